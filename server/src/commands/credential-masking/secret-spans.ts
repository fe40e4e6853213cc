import { originsOf, readWords, type Origin, type Word } from "../../lib/shell-words.ts";
import { Fault } from "../../lib/fault.ts";
import { copyOptionFields } from "../submission/body.ts";

/** A part of a text: the position of its first character, and the position after its last. */
export interface Span {
  start: number;
  end: number;
}

/**
 * Finds the credentials in a copy's arguments after macros are filled in. The arguments may be quoted as a whole
 * (§4.4), so a word that contains blanks or quotes is itself read as arguments. In case of doubt, more counts as secret
 * rather than less. Quotes stay balanced when the returned spans are cut out.
 */
export function secretSpans(args: string, field: string): Span[] {
  return mergedSpans(scan(args, readWords(args, field), "any", 0).spans);
}

/**
 * What the next word may be:
 *
 * | | |
 * |---|---|
 * | any | anything |
 * | plain | the value of an option that is not secret: may contain addresses, but is not a `name=value` |
 * | secret | the value of a secret option, whatever it looks like |
 * | stray | the rest of a secret value whose quotes were forgotten, up to the next option |
 */
type Next = "any" | "plain" | "secret" | "stray";

interface Scanned {
  spans: Span[];
  next: Next;
}

/** Quotes nested more deeply are not parsed. */
const DEEPEST = 8;
/** People paste typographic dashes from documents. */
const DASHES = String.raw`[-\u2010-\u2015\u2212]`;
const OPTION = new RegExp(`^${DASHES}{1,2}[A-Za-z]`);
const NAME = new RegExp(`^(${DASHES}*)([A-Za-z0-9_][A-Za-z0-9_.-]*)(\\s*[=:])?`);

/** `words`: the words of `text`. The spans are positions in `text`. */
function scan(text: string, words: readonly Word[], first: Next, depth: number): Scanned {
  const spans: Span[] = [];
  let next = first;
  for (const word of words) {
    if (next === "secret" || (next === "stray" && !OPTION.test(word.text))) {
      spans.push({ start: word.start, end: word.end });
      next = "stray";
    } else {
      const found = scanWord(word, next === "plain" && !OPTION.test(word.text), depth);
      if (found.spans.length > 0) {
        const origins = originsOf(text, word);
        for (const span of found.spans) spans.push(sourceOf(word, origins, span));
      }
      next = found.next;
    }
  }
  return { spans, next };
}

/** The spans are positions in the word's unquoted text. */
function scanWord({ text }: Word, isPlain: boolean, depth: number): Scanned {
  const [all = "", dashes = "", name = "", sign] = NAME.exec(text) ?? [];
  const isSecret = !isPlain && isSecretName(name);
  if (isSecret && sign !== undefined) return { spans: spanOf(all.length, text.length), next: "stray" };
  const addresses = addressSpans(text);
  if (/[\s'"\\]/.test(text)) {
    const inner = scanQuoted(text, isPlain, depth);
    return { spans: [...addresses, ...inner.spans], next: inner.next };
  }
  if (all !== text || isPlain) {
    const isProperty = !isPlain && sign === "=" && !PLAIN_OPTIONS.has(name);
    const inner = isProperty ? settingWithin(text, all.length) : [];
    return { spans: [...addresses, ...inner], next: inner.length === 0 ? "any" : "stray" };
  }
  if (isSecret) return { spans: [], next: dashes === "" ? "stray" : "secret" };
  return { spans: [], next: dashes !== "" && PLAIN_OPTIONS.has(name) ? "plain" : "any" };
}

/** A property may hold other settings: `mapreduce.map.env=A=1,AWS_SECRET_ACCESS_KEY=…`, `mapreduce.map.java.opts=-Dx=…`. */
function settingWithin(text: string, start: number): Span[] {
  const settings = text.slice(start).matchAll(/(?:^|[,;])([\w.-]+)=/g);
  const secret = settings.find(([, name = ""]) => isSecretName(name));
  return secret === undefined ? [] : spanOf(start + secret.index + secret[0].length, text.length);
}

function scanQuoted(text: string, isPlain: boolean, depth: number): Scanned {
  const words = depth === DEEPEST ? undefined : wordsOf(text);
  if (words !== undefined) return scan(text, words, isPlain ? "plain" : "any", depth + 1);
  return mentionsSecret(text) ? { spans: spanOf(0, text.length), next: "stray" } : { spans: [], next: "any" };
}

function wordsOf(text: string): Word[] | undefined {
  try {
    return readWords(text, "");
  } catch (error) {
    if (error instanceof Fault) return undefined; // its quotes are not balanced, so they are ordinary characters
    throw error;
  }
}

function mentionsSecret(text: string): boolean {
  const names = text.replaceAll(/['"\\]/g, "").split(/[\s=]+/);
  return names.some(isSecretName);
}

function spanOf(start: number, end: number): Span[] {
  return start === end ? [] : [{ start, end }];
}

/**
 * Maps a span of a word's unquoted text to the source text: including all of its quotes, or inside one pair of them, or
 * else the whole word.
 */
function sourceOf({ text, start, end }: Word, origins: readonly Origin[], span: Span): Span {
  if (span.start === 0 && span.end === text.length) return { start, end };
  const [before, first, last] = [origins[span.start - 1], origins[span.start], origins[span.end - 1]];
  if (span.end === text.length && before !== undefined && before.quote === undefined) return { start: before.end, end };
  if (first === undefined || last === undefined || first.quote !== last.quote) return { start, end };
  return { start: first.start, end: last.end };
}

/**
 * Decides by its name whether an option or property holds a credential: `encryptionKey`, `fs.s3a.secret.key`,
 * `fs.s3n.awsAccessKeyId`, `fs.azure.account.key.<account>`, `X-Amz-Signature`. A name that is wrongly taken for a
 * secret only means an unnecessary mask.
 */
const ANYWHERE = /secret|passw|passphrase|pwd|token|credential|signature|(?:access|account|api|encryption|private)key/;
const AT_THE_END = /key(?:id)?$/;
/** Shared access signatures of Azure. */
const AS_A_PART = /(?:^|[._-])(?:sas|sig)(?:[._-]|$)/;
/** Classes and files that provide credentials: `fs.s3a.aws.credentials.provider`. */
const PROVIDER = /provider(?:path)?$/;

function isSecretName(name: string): boolean {
  const lower = name.toLowerCase();
  const joined = /[._-]/.test(lower) ? lower.replaceAll(/[._-]/g, "") : lower;
  if (PROVIDER.test(joined)) return false;
  return ANYWHERE.test(joined) || AT_THE_END.test(joined) || AS_A_PART.test(lower);
}

const PLAIN_OPTIONS = new Set(Object.keys(copyOptionFields).filter((name) => !isSecretName(name)));

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
function addressSpans(text: string): Span[] {
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

/** Sorts the spans and merges those that overlap. */
function mergedSpans(spans: readonly Span[]): Span[] {
  const merged: Span[] = [];
  for (const span of spans.toSorted((a, b) => a.start - b.start)) {
    const last = merged.at(-1);
    if (last !== undefined && span.start < last.end) last.end = Math.max(last.end, span.end);
    else merged.push({ ...span });
  }
  return merged;
}
