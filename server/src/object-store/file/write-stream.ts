import type { FileHandle } from "node:fs/promises";
import type { Readable } from "node:stream";

const PIECE_BYTES = 1024 * 1024;
/** What is on the disk already need not be written when the file is synced at its end. */
const SYNC_BYTES = 64 * 1024 * 1024;

/** Writes one piece while the next one arrives. `failed` throws the error of a write in its place. */
export async function writeStream(
  handle: FileHandle,
  body: Readable,
  failed: (error: unknown) => never,
): Promise<void> {
  let chunks: Buffer[] = [];
  let bytes = 0;
  let unsynced = 0;
  let writing: Promise<void> = Promise.resolve();
  const write = async (): Promise<void> => {
    await writing;
    writing = writePiece(handle, chunks, (unsynced += bytes) >= SYNC_BYTES);
    writing.catch(() => undefined); // awaited before the next piece
    if (unsynced >= SYNC_BYTES) unsynced = 0;
    chunks = [];
    bytes = 0;
  };
  try {
    for await (const chunk of body as AsyncIterable<Buffer | string>) {
      const piece = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
      chunks.push(piece);
      bytes += piece.length;
      if (bytes >= PIECE_BYTES) await write().catch(failed);
    }
    await write().catch(failed);
    await writing.catch(failed);
  } finally {
    await writing.catch(() => undefined); // the caller closes the file
  }
}

async function writePiece(handle: FileHandle, chunks: readonly Buffer[], isSynced: boolean): Promise<void> {
  if (chunks.length === 0) return;
  const bytes = chunks.reduce((sum, { length }) => sum + length, 0);
  const { bytesWritten } = await handle.writev([...chunks]);
  if (bytesWritten < bytes) await handle.writeFile(Buffer.concat(chunks).subarray(bytesWritten));
  if (isSynced) await handle.datasync();
}
