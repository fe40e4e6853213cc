import type { Readable } from "node:stream";
import { freeMemory } from "../../lib/free-memory.ts";
import { MAX_PARTS } from "./s3-multipart.ts";

const MIB = 1024 * 1024;
/** Of a body of unknown length: so many parts have the same size, the next ones twice that size. */
const PARTS_OF_A_SIZE = 1000;
const FIRST_BYTES = 64 * 1024;

/** The size of each part, by its index. If the length is known, all have the same size, as some stores require. */
export function partSizes(bytes: number | undefined, least: number): (index: number) => number {
  if (bytes === undefined) return (index) => least * 2 ** Math.floor(index / PARTS_OF_A_SIZE);
  const size = Math.max(least, MIB * Math.ceil(bytes / MAX_PARTS / MIB));
  return () => size;
}

/** Memory of parts that have been sent is used again for later ones. */
export class PartBuffers {
  readonly #free: Buffer[] = [];

  take(bytes: number): Buffer {
    const found = this.#free.pop();
    return found !== undefined && found.length >= bytes ? found.subarray(0, bytes) : Buffer.allocUnsafeSlow(bytes);
  }

  giveBack(part: Buffer): void {
    this.#free.push(Buffer.from(part.buffer));
  }
}

/** Splits a body into parts of exactly these sizes, except for the last; an empty body has none. */
export async function* splitIntoParts(
  body: Readable | Buffer,
  sizeOf: (index: number) => number,
  buffers: PartBuffers,
  ownsChunks = false,
): AsyncGenerator<Buffer, undefined> {
  let index = 0;
  let part: Buffer = Buffer.alloc(0);
  let filled = 0;
  for await (const chunk of chunksOf(body)) {
    for (let at = 0; at < chunk.length;) {
      const size = sizeOf(index);
      if (filled === part.length)
        part = grown(part, filled, chunk.length - at, size, index === 0 ? undefined : buffers);
      const copied = chunk.copy(part, filled, at, at + part.length - filled);
      at += copied;
      filled += copied;
      if (filled < size) continue;
      yield part;
      [index, part, filled] = [index + 1, Buffer.alloc(0), 0];
    }
    if (ownsChunks) freeMemory(chunk);
  }
  if (filled > 0) yield part.subarray(0, filled);
}

/** The first part grows with the body, which may be small; it is the only one without `buffers`. */
function grown(part: Buffer, filled: number, more: number, size: number, buffers: PartBuffers | undefined): Buffer {
  if (buffers !== undefined) return buffers.take(size);
  const larger = Buffer.allocUnsafeSlow(Math.min(size, Math.max(FIRST_BYTES, 2 * filled, filled + more)));
  part.copy(larger, 0, 0, filled);
  return larger;
}

async function* chunksOf(body: Readable | Buffer): AsyncGenerator<Buffer> {
  if (Buffer.isBuffer(body)) {
    yield body;
    return;
  }
  for await (const chunk of body as AsyncIterable<Buffer | string>) {
    yield typeof chunk === "string" ? Buffer.from(chunk) : chunk;
  }
}
