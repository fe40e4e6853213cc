import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import { freeMemory } from "../lib/free-memory.ts";

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
  /** No other code uses the pieces of the body, so their memory can be freed as soon as they are sent. */
  readonly ownsPieces: boolean;

  constructor(
    type: StreamType,
    body: AsyncIterable<Uint8Array | string>,
    headers: Readonly<Record<string, string>> = {},
    { status = 200, ownsPieces = false }: { status?: 200 | 206; ownsPieces?: boolean } = {},
  ) {
    this.type = type;
    this.body = body;
    this.headers = headers;
    this.status = status;
    this.ownsPieces = ownsPieces;
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
  { type, body, headers, status, ownsPieces }: StreamReply,
  reply: FastifyReply,
  pieceLimitMs?: number,
): Readable {
  reply
    .code(status)
    .type(BINARY.has(type) ? type : `${type}; charset=utf-8`)
    .headers(headers);
  const sent = ownsPieces ? new SentPieces(reply) : undefined;
  const stream = sendPieces(sent === undefined ? body : sent.noting(body), reply, pieceLimitMs);
  sent?.freeFrom(stream);
  return stream;
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

/** Frees the memory of pieces that the system has taken. The garbage collector would let tens of megabytes wait. */
class SentPieces {
  readonly #raw: ServerResponse;
  readonly #pieces: Uint8Array[] = [];
  #bytes = 0;

  constructor({ raw }: FastifyReply) {
    this.#raw = raw;
  }

  noting(body: AsyncIterable<Chunk>): AsyncIterableIterator<Chunk> {
    const pieces = body[Symbol.asyncIterator]();
    const note = (piece: Chunk): void => {
      if (typeof piece === "string") return;
      this.#pieces.push(piece);
      this.#bytes += piece.byteLength;
    };
    return {
      async next() {
        const step = await pieces.next();
        if (step.done !== true) note(step.value);
        return step;
      },
      async return() {
        await pieces.return?.();
        return { done: true, value: undefined };
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  /** When the connection has drained, only the pieces in the stream, and the last one, may still be waiting. */
  freeFrom(stream: Readable): void {
    const free = (): void => {
      if (this.#raw.writableLength > 0) return;
      const waiting = stream.readableLength + (this.#pieces.at(-1)?.byteLength ?? 0);
      for (let first = this.#pieces[0]; first !== undefined; first = this.#pieces[0]) {
        if (this.#bytes - first.byteLength < waiting) return;
        this.#bytes -= first.byteLength;
        this.#pieces.shift();
        freeMemory(first);
      }
    };
    this.#raw.prependListener("drain", free); // before the listener that writes the next piece
  }
}

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
