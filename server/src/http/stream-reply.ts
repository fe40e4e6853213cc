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
  /** 206: the body is a range of what was requested. */
  readonly status: 200 | 206;

  constructor(
    type: StreamType,
    body: AsyncIterable<Uint8Array | string>,
    headers: Readonly<Record<string, string>> = {},
    status: 200 | 206 = 200,
  ) {
    this.type = type;
    this.body = body;
    this.headers = headers;
    this.status = status;
  }

  /** For a reply that is not sent. */
  async discard(): Promise<void> {
    await this.body[Symbol.asyncIterator]().return?.();
  }
}

/** A piece has 64 KiB or more, so a client must read at least about a kilobyte per second. */
const PIECE_LIMIT_MS = 60_000;
const BUFFER_BYTES = 64 * 1024;

export function streamOf(
  { type, body, headers, status }: StreamReply,
  reply: FastifyReply,
  pieceLimitMs?: number,
): Readable {
  reply
    .code(status)
    .type(BINARY.has(type) ? type : `${type}; charset=utf-8`)
    .headers(headers);
  return sendPieces(body, reply, pieceLimitMs);
}

/**
 * Reads the body no faster than the client takes it. Closes the connection if the client does not take a piece within
 * the limit; a body that has nothing to send for a while is no fault of the client.
 */
export function sendPieces(body: AsyncIterable<Chunk>, { raw }: FastifyReply, pieceLimitMs = PIECE_LIMIT_MS): Readable {
  const pieces = body[Symbol.asyncIterator]();
  let timer: NodeJS.Timeout | undefined;
  raw.once("close", () => clearTimeout(timer));
  const timed: AsyncIterableIterator<Chunk> = {
    async next() {
      clearTimeout(timer);
      const piece = await pieces.next();
      if (!raw.closed) timer = setTimeout(() => raw.destroy(), pieceLimitMs);
      return piece;
    },
    async return() {
      await pieces.return?.();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
  return Readable.from(timed, { objectMode: false, highWaterMark: BUFFER_BYTES });
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
