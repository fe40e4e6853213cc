import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";

/** The content types of streams. Errors are always JSON. */
export type StreamType =
  | "text/plain"
  | "text/csv"
  | "text/event-stream"
  | "application/json"
  | "application/octet-stream"
  | "application/vnd.apache.arrow.stream";

/** Binary types have no charset. */
const BINARY: ReadonlySet<StreamType> = new Set(["application/octet-stream", "application/vnd.apache.arrow.stream"]);

/**
 * A reply that is too large for memory, or not complete yet. It is read no faster than the client takes it and sent
 * unchanged: neither the reply schema nor the identifier prefix applies.
 */
export class StreamReply {
  readonly type: StreamType;
  readonly body: AsyncIterable<Uint8Array | string>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    type: StreamType,
    body: AsyncIterable<Uint8Array | string>,
    headers: Readonly<Record<string, string>> = {},
  ) {
    this.type = type;
    this.body = body;
    this.headers = headers;
  }
}

/** A client that reads nothing for this long is considered gone; idle streams send something more often. */
const STALL_LIMIT_MS = 60_000;

export function streamOf(
  { type, body, headers }: StreamReply,
  reply: FastifyReply,
  stallLimitMs = STALL_LIMIT_MS,
): Readable {
  reply.type(BINARY.has(type) ? type : `${type}; charset=utf-8`).headers(headers);
  reply.raw.setTimeout(stallLimitMs, () => reply.raw.destroy());
  return Readable.from(body, { objectMode: false, highWaterMark: 64 * 1024 });
}
