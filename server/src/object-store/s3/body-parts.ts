import type { Readable } from "node:stream";
import { freeMemory } from "../../lib/free-memory.ts";
import { MAX_PARTS } from "./s3-multipart.ts";

const MIB = 1024 * 1024;
/** The smallest part that S3 allows, except for the last. */
export const MIN_PART_BYTES = 5 * MIB;
export const PARTS_IN_FLIGHT = 2;
const MAX_PART_BYTES = 32 * MIB;
/** S3 allows larger objects, but the parts of one upload must not take all memory. */
const MAX_UPLOAD_BYTES = MAX_PARTS * MAX_PART_BYTES;
/** For a body of unknown length. */
const USUAL_PART_BYTES = 8 * MIB;
const FIRST_BYTES = 64 * 1024;

/** The size of all parts but the last: some stores require equal parts. Undefined: such a body is too large. */
export function partSize(bytes: number | undefined, minBytes = MIN_PART_BYTES): number | undefined {
  if (bytes === undefined) return Math.max(minBytes, USUAL_PART_BYTES);
  if (bytes > MAX_UPLOAD_BYTES) return undefined;
  return bytes <= minBytes * MAX_PARTS ? minBytes : MIB * Math.ceil(bytes / MAX_PARTS / MIB);
}

/** How much memory an upload takes. A body that is too large is refused, so it takes none. */
export function memoryOfUpload(bytes: number | undefined): number {
  const parts = (PARTS_IN_FLIGHT + 1) * (partSize(bytes) ?? 0);
  return bytes === undefined ? parts : Math.min(parts, 2 * bytes); // a body of one part is copied as it grows
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

/** Splits a body into parts of exactly this size, except for the last; an empty body has none. */
export async function* splitIntoParts(
  body: Readable | Buffer,
  size: number,
  buffers: PartBuffers,
  ownsChunks = false,
): AsyncGenerator<Buffer, undefined> {
  let isFirst = true;
  let part: Buffer = Buffer.alloc(0);
  let filled = 0;
  for await (const chunk of chunksOf(body)) {
    for (let at = 0; at < chunk.length;) {
      if (filled === part.length) part = grown(part, filled, chunk.length - at, size, isFirst ? undefined : buffers);
      const copied = chunk.copy(part, filled, at, at + part.length - filled);
      at += copied;
      filled += copied;
      if (filled < size) continue;
      yield part;
      [isFirst, part, filled] = [false, Buffer.alloc(0), 0];
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
