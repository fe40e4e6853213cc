import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";

/** A file that is open, and its size at that moment. */
export interface PlainFile {
  readonly handle: FileHandle;
  readonly size: number;
}

const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** Not there; a symbolic link; a socket; a pipe or device with nobody behind it. */
const ABSENT = new Set(["ENOENT", "ENOTDIR", "ELOOP", "ENXIO", "ENODEV"]);
const CHUNK_BYTES = 64 * 1024;

/**
 * Opens a file in a folder that programs can write into: no link is followed, and nothing but a plain file is read,
 * so that none of them leads us elsewhere or keeps us waiting. Undefined: there is no such file.
 */
export async function openPlainFile(path: string): Promise<PlainFile | undefined> {
  let handle: FileHandle;
  try {
    handle = await open(path, FLAGS);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
  try {
    const stats = await handle.stat();
    if (stats.isFile()) return { handle, size: stats.size };
  } catch (error) {
    await handle.close();
    throw error;
  }
  await handle.close();
  return undefined;
}

/** The same for a thread that may block: its descriptor. */
export function openPlainFileSync(path: string): number | undefined {
  let file: number;
  try {
    file = openSync(path, FLAGS);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
  if (fstatSync(file).isFile()) return file;
  closeSync(file);
  return undefined;
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && "code" in error && ABSENT.has(String(error.code));
}

/** The bytes from `start` up to `end`, a piece at a time. Fails when the file has become shorter than that. */
export async function* readPieces({ handle }: PlainFile, start: number, end: number): AsyncGenerator<Buffer> {
  for (let at = start; at < end;) {
    const piece = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, end - at));
    const { bytesRead } = await handle.read(piece, 0, piece.length, at);
    if (bytesRead === 0) throw new Error("a file became shorter while it was read");
    at += bytesRead;
    yield piece.subarray(0, bytesRead);
  }
}

/** At most so many bytes from its beginning, as text; empty when there is no such file. */
export async function readHead(path: string, bytes: number): Promise<string> {
  return readSome(path, () => 0, bytes);
}

/** At most so many bytes from its end, as text; empty when there is no such file. */
export async function readTail(path: string, bytes: number): Promise<string> {
  return readSome(path, (size) => Math.max(0, size - bytes), bytes);
}

async function readSome(path: string, from: (size: number) => number, bytes: number): Promise<string> {
  const file = await openPlainFile(path);
  if (file === undefined) return "";
  try {
    const start = from(file.size);
    const pieces = await Array.fromAsync(readPieces(file, start, Math.min(file.size, start + bytes)));
    return Buffer.concat(pieces).toString("utf8");
  } finally {
    await file.handle.close();
  }
}
