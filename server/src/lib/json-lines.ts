import type { FileHandle } from "node:fs/promises";

const PIECE_BYTES = 256 * 1024;
const NEWLINE = 0x0a;

export interface JsonLine {
  /** The position after the line. */
  readonly end: number;
  readonly value: unknown;
}

/**
 * Reads a file of JSON lines from its start. A last line without a newline, which a crash has cut off, is left out.
 * `maxLineBytes` bounds the memory for untrusted files: a longer line is an error.
 */
export async function* readJsonLines(handle: FileHandle, maxLineBytes = Infinity): AsyncGenerator<JsonLine> {
  let open: Buffer[] = [];
  let openBytes = 0;
  const piece = Buffer.allocUnsafe(PIECE_BYTES);
  for (let read = 0; ;) {
    const { bytesRead } = await handle.read(piece, 0, piece.length, read);
    if (bytesRead === 0) return;
    let from = 0;
    for (;;) {
      const newline = piece.subarray(0, bytesRead).indexOf(NEWLINE, from);
      const end = newline === -1 ? bytesRead : newline;
      openBytes += end - from;
      if (openBytes > maxLineBytes) throw new Error(`a line is longer than ${maxLineBytes} bytes`);
      if (newline === -1) break;
      const rest = piece.subarray(from, newline);
      const text = (open.length === 0 ? rest : Buffer.concat([...open, rest])).toString("utf8");
      from = newline + 1;
      open = [];
      openBytes = 0;
      yield { end: read + from, value: JSON.parse(text) as unknown };
    }
    open.push(Buffer.from(piece.subarray(from, bytesRead)));
    read += bytesRead;
  }
}
