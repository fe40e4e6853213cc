import { isSecretName } from "./secret-name.ts";
import type { Span } from "./span.ts";

interface Address {
  scheme: string;
  /** After the `://`. */
  rest: string;
  start: number;
}

/**
 * Credentials in the addresses of a text: `key:secret` before an `@`, and the signatures of a query (`?sig=…`).
 *
 * A secret often has a `/`, which ends the host of an address that is written as it should be, so the credentials end
 * at the last `@` before the next address. The price is that an `@` in a path hides the bucket as well.
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

/** Longer ones are no schemes. */
const SCHEME_LENGTH = 32;

function addressesOf(text: string): Address[] {
  const starts = [...text.matchAll(/:\/\//g)].flatMap(({ index }) => {
    const before = text.slice(Math.max(0, index - SCHEME_LENGTH), index);
    const [scheme = ""] = /[a-z][a-z0-9+.-]*$/i.exec(before) ?? [];
    // A password may have a `://` of its own.
    const isPassword = /[:@%/]$/.test(before.slice(0, before.length - scheme.length));
    return isPassword ? [] : [{ scheme, start: index + "://".length }];
  });
  return starts.map(({ scheme, start }, at) => ({ scheme, start, rest: text.slice(start, starts[at + 1]?.start) }));
}

/** A colon may also stand before a port, but buckets have none. */
function userInfo(scheme: string, rest: string): Span[] {
  const first = /^[^/?#]*/.exec(rest)?.[0] ?? "";
  const colon = first.search(/:|%3a/i);
  const end = Math.max(rest.lastIndexOf("@"), first.toLowerCase().lastIndexOf("%40"));
  const isPort = /^[^:]*:\d*$/.test(first) && !/s3[an]?$/i.test(scheme);
  return colon === -1 || end < colon || isPort ? [] : [{ start: 0, end }];
}

function queryValues(rest: string): Span[] {
  return [...rest.matchAll(/[?&;]([\w.-]+)=([^&;\s]*)/g)]
    .filter(([, name = ""]) => isSecretName(name))
    .map(({ index, 0: { length }, 2: value = "" }) => ({ start: index + length - value.length, end: index + length }));
}
