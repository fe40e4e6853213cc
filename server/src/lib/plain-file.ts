import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";

/** An open file, and its size when it was opened. */
export interface PlainFile {
  readonly handle: FileHandle;
  readonly size: number;
}

const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** Missing; a symbolic link; a socket; or a pipe or device without another end. */
const ABSENT = new Set(["ENOENT", "ENOTDIR", "ELOOP", "ENXIO", "ENODEV"]);
const CHUNK_BYTES = 64 * 1024;

/**
 * Opens a file in a folder that programs can write to. Follows no link and opens only regular files, so that a program
 * can neither redirect nor block the reader. Undefined if there is no such file.
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

/** The same for threads that may block; returns the descriptor. */
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

/** Reads the bytes from `start` to `end` in chunks. Throws if the file has become shorter. */
export async function* readChunks({ handle }: PlainFile, start: number, end: number): AsyncGenerator<Buffer> {
  for (let at = start; at < end;) {
    const piece = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, end - at));
    const { bytesRead } = await handle.read(piece, 0, piece.length, at);
    if (bytesRead === 0) throw new Error("the file was truncated while it was read");
    at += bytesRead;
    yield piece.subarray(0, bytesRead);
  }
}

/** The first `bytes` bytes as text; empty if there is no such file. */
export async function readHead(path: string, bytes: number): Promise<string> {
  return readSome(path, () => 0, bytes);
}

/** The last `bytes` bytes as text; empty if there is no such file. */
export async function readTail(path: string, bytes: number): Promise<string> {
  return readSome(path, (size) => Math.max(0, size - bytes), bytes);
}

async function readSome(path: string, from: (size: number) => number, bytes: number): Promise<string> {
  const file = await openPlainFile(path);
  if (file === undefined) return "";
  try {
    const start = from(file.size);
    const pieces = await Array.fromAsync(readChunks(file, start, Math.min(file.size, start + bytes)));
    return Buffer.concat(pieces).toString("utf8");
  } finally {
    await file.handle.close();
  }
}
