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

type Chunk = Uint8Array | string;

/**
 * Puts chunks before and after those of an iterator. Closing the result always closes the iterator, even if nothing was
 * read; a generator that was never started would not.
 */
export function frameChunks(
  before: readonly Chunk[],
  chunks: AsyncIterator<Chunk>,
  after: readonly Chunk[] = [],
): AsyncIterableIterator<Chunk> {
  const all = joined(before, chunks, after);
  let isStarted = false;
  return {
    next() {
      isStarted = true;
      return all.next();
    },
    async return() {
      if (!isStarted) await chunks.return?.();
      return all.return();
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

async function* joined(
  before: readonly Chunk[],
  chunks: AsyncIterator<Chunk>,
  after: readonly Chunk[],
): AsyncGenerator<Chunk, void, undefined> {
  try {
    yield* before;
    for (let chunk = await chunks.next(); chunk.done !== true; chunk = await chunks.next()) yield chunk.value;
    yield* after;
  } finally {
    await chunks.return?.();
  }
}
