import { closeSync, fchownSync, fsyncSync, openSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";

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
