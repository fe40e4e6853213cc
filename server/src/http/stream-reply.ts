import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";

/** What a stream can be; errors stay JSON, whatever was asked for. */
export type StreamType =
  | "text/plain"
  | "text/csv"
  | "text/event-stream"
  | "application/json"
  | "application/octet-stream"
  | "application/vnd.apache.arrow.stream";

/** No text, so there are no characters to name. */
const BINARY: ReadonlySet<StreamType> = new Set(["application/octet-stream", "application/vnd.apache.arrow.stream"]);

/**
 * A reply too large to hold, or one that is not complete yet. It is read no faster than the client takes it, and is
 * passed on byte for byte: neither the reply schema nor the identifier prefix touch it.
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

/** A client that takes nothing for so long is gone; a quiet stream says something sooner. */
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
