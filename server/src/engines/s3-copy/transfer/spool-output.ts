import { CopyError } from "../copy-error.ts";
import type { ObjectAttributes } from "../../../object-store/s3/s3-operations.ts";
import type { PlannedOutput } from "../plan/planned-output.ts";
import { COPY_LIMIT_BYTES, type S3Storage } from "../storage/s3-storage.ts";
import { lastName, NO_ATTRIBUTES, type SourceReader, type SpoolFolder, type Storage } from "../storage/storage.ts";
import { outputContents, readAhead, type ReadOptions } from "./output-contents.ts";

/**
 * Writes contents of unknown size to S3 in one request: they wait in the temporary folder until their size is known. The
 * temporary file is removed afterwards, even after a failure.
 */
export async function spoolOutput(
  contents: AsyncIterable<readonly Buffer[]>,
  to: S3Storage,
  target: SpoolTarget,
  { folder, read }: { folder: SpoolFolder; read: ReadOptions },
): Promise<number> {
  const { storage } = folder;
  const uri = await folder.newFile();
  const remove = async (): Promise<void> => {
    await storage.removeTemporary(uri);
    folder.noteRemoved(uri);
  };
  try {
    const bytes = await spool(contents, storage, uri, target);
    const found = await storage.find(uri);
    if (found === undefined) throw new CopyError(`${uri}: the temporary file is gone`);
    const spooled = { ...found, uri, name: lastName(uri), storageClass: null };
    await to.writeStream(target.uri, bytes, () => readAhead(spooled, storage, read), target.attributes);
    await remove();
    return bytes;
  } catch (error) {
    await remove().catch(() => undefined);
    throw error;
  }
}

/**
 * Writes an output in one request; its size is the sum of its sources. The sources are read again if the request has to be
 * repeated.
 */
export async function sendOutput(
  output: PlannedOutput,
  from: SourceReader,
  to: S3Storage,
  { target, read }: { target: SpoolTarget; read: ReadOptions },
): Promise<number> {
  const counted = countOnce(read.onRead);
  const contents = (): AsyncIterable<Buffer> => outputContents(output, from, { ...read, onRead: counted() });
  await to.writeStream(target.uri, output.bytes, contents, target.attributes);
  return output.bytes;
}

/** Counts bytes that are read several times only once. Each call begins at the first byte. */
function countOnce(onBytes: (bytes: number) => void): () => (bytes: number) => void {
  let most = 0;
  return () => {
    let read = 0;
    return (bytes) => {
      read += bytes;
      if (read > most) onBytes(read - most);
      most = Math.max(most, read);
    };
  };
}

interface SpoolTarget {
  readonly uri: string;
  readonly attributes: ObjectAttributes;
}

async function spool(
  contents: AsyncIterable<readonly Buffer[]>,
  storage: Storage,
  uri: string,
  target: SpoolTarget,
): Promise<number> {
  const writer = await storage.create(uri, { bytes: undefined, attributes: NO_ATTRIBUTES });
  let bytes = 0;
  try {
    let number = 0;
    for await (const pieces of contents) {
      number += 1;
      await writer.write({ number, offset: bytes, bytes: pieces });
      bytes += pieces.reduce((sum, piece) => sum + piece.length, 0);
      if (bytes > COPY_LIMIT_BYTES) throw tooLarge(target.uri);
    }
    await writer.finish(bytes);
    return bytes;
  } catch (error) {
    await writer.discard().catch(() => undefined);
    throw error;
  }
}

export function tooLarge(uri: string): CopyError {
  return new CopyError(`${uri}: larger than 5 GiB, the most that S3 accepts without multipart upload`);
}
