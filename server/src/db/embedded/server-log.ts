import { copyFile, open, stat, truncate, type FileHandle } from "node:fs/promises";

const maxBytes = 8 * 1024 * 1024;

/** Passed to the server as an open descriptor, so that its user needs no permission on the file. */
export async function openServerLog(path: string): Promise<{ file: FileHandle; sizeBytes: number }> {
  await rotateServerLog(path);
  const file = await open(path, "a", 0o600);
  return { file, sizeBytes: (await file.stat()).size };
}

/** A running server keeps appending to its descriptor, so the content is copied and the file truncated. */
export async function rotateServerLog(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined || found.size <= maxBytes) return;
  await copyFile(path, `${path}.1`);
  await truncate(path);
}

export async function readLogFrom(path: string, offset: number): Promise<string> {
  const file = await open(path, "r");
  try {
    const buffer = Buffer.alloc(16 * 1024);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, offset);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}
