import { isSecretName } from "./secret-name.ts";
import type { Span } from "./span.ts";

interface Address {
  scheme: string;
  /** The text after the `://`. */
  rest: string;
  start: number;
}

/**
 * Finds credentials in the addresses of a text: `key:secret` before an `@`, and signatures in a query (`?sig=…`).
 *
 * In a well-formed address a `/` ends the host, but secrets often contain a `/` that is not escaped. Everything up to
 * the last `@` before the next address therefore counts as credentials. The price is that an `@` in a path masks the
 * bucket as well.
 */
export function addressSpans(text: string): Span[] {
  if (!text.includes("://")) return [];
  return addressesOf(text).flatMap(({ scheme, rest, start }) =>
    [...userInfo(scheme, rest), ...queryValues(rest)].map((span) => ({
      start: start + span.start,
      end: start + span.end,
    })),
  );
}

/** No scheme is longer. */
const SCHEME_LENGTH = 32;

/**
 * A password may have a `://` of its own: a scheme after a colon may belong to the address before it. `jdbc:mysql://…`
 * looks alike, so it is read both ways: as a part of that address, and as an address.
 */
function addressesOf(text: string): Address[] {
  const starts = [...text.matchAll(/:\/\//g)].map(({ index }, at) => {
    const before = text.slice(Math.max(0, index - SCHEME_LENGTH), index);
    const [scheme = ""] = /[a-z][a-z0-9+.-]*$/i.exec(before) ?? [];
    const isNested = at > 0 && /[:@%/]$/.test(before.slice(0, before.length - scheme.length));
    return { scheme, start: index + "://".length, isNested };
  });
  let nextStart: number | undefined;
  let nextOuter: number | undefined;
  return starts.toReversed().map(({ scheme, start, isNested }) => {
    const rest = text.slice(start, isNested ? nextStart : nextOuter);
    nextStart = start;
    if (!isNested) nextOuter = start;
    return { scheme, start, rest };
  });
}

/** A colon may also precede a port, except in addresses of S3: buckets have no port. */
function userInfo(scheme: string, rest: string): Span[] {
  const first = /^[^/?#]*/.exec(rest)?.[0] ?? "";
  const colon = first.search(/:|%3a/i);
  const end = Math.max(rest.lastIndexOf("@"), first.toLowerCase().lastIndexOf("%40"));
  const isPort = /^[^:]*:\d*$/.test(first) && !/s3[an]?$/i.test(scheme);
  return colon === -1 || end < colon || isPort ? [] : [{ start: 0, end }];
}

function queryValues(rest: string): Span[] {
  return [...rest.matchAll(/[?&;]([\w.-]+)=([^&;\s]+)/g)]
    .filter(([, name = ""]) => isSecretName(name))
    .map(({ index, 0: { length }, 2: value = "" }) => ({ start: index + length - value.length, end: index + length }));
}
