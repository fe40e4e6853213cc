import type { FileHandle } from "node:fs/promises";

const FILE_PIECE_BYTES = 1024 * 1024;

/** Used instead of `createReadStream`, because the handle could not be closed before that stream is destroyed. */
export async function* filePieces(file: FileHandle): AsyncGenerator<Buffer> {
  for (let at = 0; ;) {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(FILE_PIECE_BYTES), 0, FILE_PIECE_BYTES, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
