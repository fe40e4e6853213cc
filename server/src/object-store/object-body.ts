import { Readable } from "node:stream";
import type { FileHandle } from "node:fs/promises";

/** A stream of the same bytes whose errors are translated. Destroying it destroys its source immediately. */
export function translatedBody(source: Readable, translate: (error: unknown) => unknown): Readable {
  const body = Readable.from(chunksOf(source, translate), { objectMode: false });
  source.on("error", () => undefined); // nothing else listens if it is destroyed before the first read
  body.once("close", () => source.destroy());
  return body;
}

async function* chunksOf(source: Readable, translate: (error: unknown) => unknown): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of source as AsyncIterable<Buffer>) yield chunk;
  } catch (error) {
    throw translate(error);
  }
}

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
