import { codecOf } from "../codecs/codec-table.ts";
import { decodeStream, encodeStream } from "../codecs/codec.ts";
import { CopyError } from "../copy-error.ts";
import type { PlannedOutput, SourceFile } from "../plan/planned-output.ts";
import type { SourceReader } from "../storage/storage.ts";
import { noteDropped } from "../dropped-memory.ts";
import { RangedCrc32 } from "./ranged-crc32.ts";

export interface ReadOptions {
  readonly inSlot: <T>(work: () => Promise<T>) => Promise<T>;
  readonly onRead: (bytes: number) => void;
  readonly signal: AbortSignal;
}

const READ_BYTES = 4 * 1024 * 1024;
/** The number of reads ahead of the codec, so that it seldom waits. */
const READ_AHEAD = 2;

/** The memory that streaming one output takes besides the part that is being written. */
export const STREAM_BYTES = (READ_AHEAD + 2) * READ_BYTES;

/** The contents of an output: those of its sources, decoded by their extensions and encoded if the output requires it. */
export async function* outputContents(
  output: PlannedOutput,
  from: SourceReader,
  options: ReadOptions,
): AsyncGenerator<Buffer> {
  const { recoding } = output;
  if (recoding === null) {
    for await (const source of output.sources()) yield* readAhead(source, from, options);
    return;
  }
  const decoded = decodedContents(output, from, options);
  yield* recoding.to === null ? decoded : encodeStream(recoding.to, decoded);
}

async function* decodedContents(
  output: PlannedOutput,
  from: SourceReader,
  options: ReadOptions,
): AsyncGenerator<Buffer> {
  for await (const source of output.sources()) {
    const codec = codecOf(source.name);
    const contents = readAhead(source, from, options);
    try {
      yield* codec === null ? contents : decodeStream(codec, contents);
    } catch (error) {
      if (error instanceof Error && error.name === "CodecError") {
        throw new CopyError(`${source.uri}: ${error.message}`, { cause: error });
      }
      throw error;
    }
  }
}

/** The contents of a source in order, with a few reads in flight. */
export async function* readAhead(
  source: SourceFile,
  from: SourceReader,
  { inSlot, onRead, signal }: ReadOptions,
): AsyncGenerator<Buffer> {
  const pending: Promise<Buffer>[] = [];
  let next = 0;
  const fill = (): void => {
    while (pending.length < READ_AHEAD && next < source.size) {
      const range = { offset: next, length: Math.min(READ_BYTES, source.size - next) };
      const piece = inSlot(async () => (await from.read(source, range)).bytes);
      piece.catch(() => undefined); // the error is thrown below, in order
      pending.push(piece);
      next += range.length;
    }
  };
  fill();
  const checksum = source.size > READ_BYTES ? new RangedCrc32(source, from) : undefined;
  let offset = 0;
  for (let piece = pending.shift(); piece !== undefined; piece = pending.shift()) {
    signal.throwIfAborted();
    const bytes = await piece;
    fill();
    await checksum?.add(offset, bytes);
    offset += bytes.length;
    onRead(bytes.length);
    yield bytes;
    noteDropped(bytes.length);
  }
}

/**
 * Cuts a stream into parts. `sizeOf` is asked for the size of each part, counted from 1, before the part begins; only the
 * last part may be smaller. The first part consists of the pieces as they came, because most outputs are small. Each other
 * part is one piece, so that it need not be joined. The memory of a part is used again for the part after the next.
 */
export async function* cutParts(
  contents: AsyncIterable<Buffer>,
  sizeOf: (number: number) => Promise<number>,
): AsyncGenerator<Buffer[]> {
  let number = 1;
  let [filled, size] = [0, await sizeOf(number)];
  const first: Buffer[] = [];
  let part: Buffer | undefined;
  let previous: Buffer | undefined;
  for await (const given of contents) {
    for (let rest = given; rest.length > 0;) {
      if (filled === size) {
        yield part === undefined ? first.splice(0) : [part];
        number += 1;
        [filled, size] = [0, await sizeOf(number)];
        [previous, part] = [part, previous?.length === size ? previous : Buffer.allocUnsafeSlow(size)];
      }
      const taken = rest.subarray(0, size - filled);
      if (part === undefined) first.push(taken);
      else taken.copy(part, filled);
      filled += taken.length;
      rest = rest.subarray(taken.length);
    }
    noteDropped(given.length);
  }
  if (filled > 0) yield part === undefined ? first : [part.subarray(0, filled)];
}
