import type { FileHandle } from "node:fs/promises";
import type { Readable } from "node:stream";
import { freeMemory } from "../../lib/free-memory.ts";

const PIECE_BYTES = 1024 * 1024;
/** A large file is also synced while it is written: one sync at its end would delay the syncs of the database. */
const SYNC_BYTES = 64 * 1024 * 1024;

interface WriteStreamOptions {
  /** No other code uses the chunks of the body. */
  readonly ownsChunks: boolean;
  /** Throws the error of a write in its place. */
  readonly failed: (error: unknown) => never;
}

/** Writes one piece while the next one arrives. */
export async function writeStream(
  handle: FileHandle,
  body: Readable,
  { ownsChunks, failed }: WriteStreamOptions,
): Promise<void> {
  const syncs = new BackgroundSyncs(handle);
  let chunks: Buffer[] = [];
  let bytes = 0;
  let writing: Promise<void> = Promise.resolve();
  const write = async (): Promise<void> => {
    await writing;
    writing = writePiece(handle, chunks, ownsChunks);
    writing.catch(() => undefined); // awaited before the next piece
    syncs.note(bytes);
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
    await syncs.end().catch(failed);
  }
}

async function writePiece(handle: FileHandle, chunks: readonly Buffer[], ownsChunks: boolean): Promise<void> {
  if (chunks.length === 0) return;
  const bytes = chunks.reduce((sum, { length }) => sum + length, 0);
  const { bytesWritten } = await handle.writev([...chunks]);
  if (bytesWritten < bytes) await handle.writeFile(Buffer.concat(chunks).subarray(bytesWritten));
  if (ownsChunks) for (const chunk of chunks) freeMemory(chunk);
}

/** Syncs the file now and then, one sync at a time, while it is written. */
class BackgroundSyncs {
  readonly #handle: FileHandle;
  #unsynced = 0;
  #current: Promise<void> | undefined;

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  note(bytes: number): void {
    this.#unsynced += bytes;
    if (this.#unsynced < SYNC_BYTES || this.#current !== undefined) return;
    this.#unsynced = 0;
    const sync = this.#handle.datasync().then(() => void (this.#current = undefined));
    sync.catch(() => undefined); // a failure stays until the end
    this.#current = sync;
  }

  /** Throws if one has failed: the system reports it only once. */
  async end(): Promise<void> {
    await this.#current;
  }
}
