import type { IncomingHttpHeaders } from "node:http";
import { ObjectStoreError } from "../object-store-error.ts";

export interface ResponseHead {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The length of the body; null if the head does not contain it. */
  readonly length: number | null;
  /** The connection can be used for another request. */
  readonly isKeptAlive: boolean;
}

/** Parses the status line and the headers, without the empty line at their end. Throws if they are not HTTP/1.x. */
export function parseResponseHead(text: string): ResponseHead {
  const [statusLine = "", ...lines] = text.split("\r\n");
  const [, status] = /^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(statusLine) ?? [];
  if (status === undefined) throw unreadableHead("is not HTTP/1.x");
  const headers = Object.create(null) as Record<string, string>; // a header may be named like a method of objects
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon < 1 || /^[ \t]|[ \t]$/.test(line.slice(0, colon))) throw unreadableHead("has a malformed header");
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    // Two lengths that differ would let one response hide another.
    if (name === "content-length" && headers[name] !== undefined && headers[name] !== value) {
      throw unreadableHead("has two lengths");
    }
    headers[name] = name in headers && name !== "content-length" ? `${headers[name]}, ${value}` : value;
  }
  return {
    status: Number(status),
    headers,
    length: lengthOf(headers),
    isKeptAlive: statusLine.startsWith("HTTP/1.1") && !/\bclose\b/i.test(headers["connection"] ?? ""),
  };
}

function unreadableHead(problem: string): ObjectStoreError {
  return new ObjectStoreError("bad-response", `the answer ${problem}`);
}

function lengthOf(headers: Readonly<Record<string, string>>): number | null {
  const text = headers["content-length"];
  if (headers["transfer-encoding"] !== undefined || text === undefined) return null;
  if (!/^\d{1,15}$/.test(text)) throw unreadableHead("has no valid length");
  return Number(text);
}
