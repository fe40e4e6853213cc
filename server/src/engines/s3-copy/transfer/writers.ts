import type { ObjectAttributes } from "../../../object-store/s3/s3-operations.ts";
import { joinPieces } from "../storage/join-pieces.ts";
import type { OutputPart, OutputWriter, Storage } from "../storage/storage.ts";

/** Writes an output that fits into one part: the part is the whole file. An empty output has no part. */
export function wholeWriter(to: Storage, uri: string, attributes: ObjectAttributes): OutputWriter {
  let isWritten = false;
  return {
    async write({ bytes }: OutputPart) {
      await to.write(uri, joinPieces(bytes), attributes);
      isWritten = true;
    },
    async finish() {
      if (!isWritten) await to.write(uri, Buffer.alloc(0), attributes);
    },
    discard: () => Promise.resolve(),
  };
}

/** The same writer, but without `copyPart`: all parts are read and sent. */
export function withoutCopies(writer: OutputWriter): OutputWriter {
  return {
    write: (part) => writer.write(part),
    finish: (totalBytes) => writer.finish(totalBytes),
    discard: () => writer.discard(),
  };
}

/** Finishes the output with the size that `work` returns, or leaves nothing behind. */
export async function finishing(
  writer: OutputWriter,
  signal: AbortSignal,
  work: () => Promise<number>,
): Promise<number> {
  try {
    const bytes = await work();
    signal.throwIfAborted();
    await writer.finish(bytes);
    return bytes;
  } catch (error) {
    await writer.discard().catch(() => undefined);
    throw error;
  }
}

/** One part is written while the next is made. Returns the size of all parts. */
export async function writeInOrder(writer: OutputWriter, parts: AsyncIterable<readonly Buffer[]>): Promise<number> {
  let number = 0;
  let offset = 0;
  let writing = Promise.resolve();
  for await (const bytes of parts) {
    await writing;
    number += 1;
    writing = writer.write({ number, offset, bytes });
    writing.catch(() => undefined); // awaited above or below
    offset += bytes.reduce((sum, piece) => sum + piece.length, 0);
  }
  await writing;
  return offset;
}

/** Continues an iteration whose first values were read already. */
export async function* chained<T>(first: readonly T[], rest: AsyncIterator<T>): AsyncGenerator<T> {
  try {
    yield* first;
    for (let step = await rest.next(); step.done !== true; step = await rest.next()) yield step.value;
  } finally {
    await rest.return?.();
  }
}
