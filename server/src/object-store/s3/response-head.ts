import { ObjectStoreError } from "../object-store-error.ts";

/** Names in lower case, one character per byte. A repeated header is joined by commas. */
export type ResponseHeaders = Readonly<Record<string, string | undefined>>;

export interface ResponseHead {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** The length of the body; null if the head does not contain it. */
  readonly length: number | null;
  readonly isChunked: boolean;
  /** The connection can be used for another request. */
  readonly isKeptAlive: boolean;
}

/** Parses the status line and the headers, without the empty line at their end. Throws if they are not HTTP/1.x. */
export function parseResponseHead(text: string): ResponseHead {
  const statusEnd = endOfLine(text, 0);
  const [statusLine = "", status] = /^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(text.slice(0, statusEnd)) ?? [];
  if (status === undefined) throw badResponse("is not HTTP/1.x");
  const headers = Object.create(null) as Record<string, string>; // a header may be named like a method of objects
  for (let start = statusEnd + 2; start < text.length;) {
    const end = endOfLine(text, start);
    const colon = text.indexOf(":", start);
    if (colon <= start || colon >= end || isSpace(text, start) || isSpace(text, colon - 1)) {
      throw badResponse("has a malformed header");
    }
    const name = text.slice(start, colon).toLowerCase();
    const value = trimmed(text, colon + 1, end);
    const earlier = headers[name];
    if (earlier === undefined) headers[name] = value;
    else if (name !== "content-length") headers[name] = `${earlier}, ${value}`;
    // Two lengths that differ would let one response hide another.
    else if (earlier !== value) throw badResponse("has two lengths");
    start = end + 2;
  }
  return {
    status: Number(status),
    headers,
    length: lengthOf(headers),
    isChunked: isChunked(headers),
    isKeptAlive: statusLine.startsWith("HTTP/1.1") && !/\bclose\b/i.test(headers["connection"] ?? ""),
  };
}

function endOfLine(text: string, start: number): number {
  const end = text.indexOf("\r\n", start);
  return end === -1 ? text.length : end;
}

/** Not `trim`, which also removes 0xA0: in UTF-8, that is a part of a character. */
function trimmed(text: string, start: number, end: number): string {
  let [from, to] = [start, end];
  while (from < to && isSpace(text, from)) from += 1;
  while (to > from && isSpace(text, to - 1)) to -= 1;
  return text.slice(from, to);
}

function isSpace(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code === SPACE || code === TAB;
}

const SPACE = 0x20;
const TAB = 0x09;

function isChunked(headers: ResponseHeaders): boolean {
  const encoding = headers["transfer-encoding"];
  if (encoding === undefined) return false;
  if (encoding.toLowerCase() !== "chunked") throw badResponse("has an unknown transfer encoding");
  return true;
}

function lengthOf(headers: ResponseHeaders): number | null {
  const text = headers["content-length"];
  if (headers["transfer-encoding"] !== undefined || text === undefined) return null;
  if (!/^\d{1,15}$/.test(text)) throw badResponse("has no valid length");
  return Number(text);
}

/** `problem`: what follows the words "the answer". */
export function badResponse(problem: string): ObjectStoreError {
  return new ObjectStoreError("bad-response", `the answer ${problem}`);
}
