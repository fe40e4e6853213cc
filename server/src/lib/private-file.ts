import { closeSync, fchownSync, fsyncSync, openSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { open, rename, stat } from "node:fs/promises";

/**
 * Writes a file with mode 0600, atomically: after a crash or a power cut the old or the new content is there. If root
 * writes for a server of another user, the file keeps its owner.
 */
export function writePrivateFile(path: string, text: string): void {
  const temporary = `${path}.new`;
  rmSync(temporary, { force: true }); // left by a killed writer
  const handle = openSync(temporary, "wx", 0o600);
  try {
    const there = statSync(path, { throwIfNoEntry: false });
    if (there !== undefined) fchownSync(handle, there.uid, there.gid);
    writeSync(handle, text);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  renameSync(temporary, path);
  syncFolder(dirname(path));
}

/** A rename is durable only once its folder is synced. */
export function syncFolder(path: string): void {
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/**
 * Like `writePrivateFile`, without blocking the event loop: on a busy disk a flush takes long. Concurrent writers of
 * the same file are safe.
 */
export async function writePrivateFileAsync(path: string, text: string): Promise<void> {
  // Node loads the global `crypto` on its first use: the runner, which loads this file, never needs it.
  const temporary = `${path}.${crypto.randomUUID()}.new`;
  const handle = await open(temporary, "wx", 0o600);
  try {
    const there = await stat(path).catch(() => undefined);
    if (there !== undefined) await handle.chown(there.uid, there.gid);
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, path);
  await flushFolder(dirname(path));
}

/** Flushes a folder to disk, so that new files and renames in it survive a power cut. Does not block the event loop. */
export async function flushFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
