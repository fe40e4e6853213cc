import { closeSync, fchownSync, fsyncSync, openSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Writes a file of mode 0600: closed to others from its first byte on, and after a crash or a power cut either as it
 * was or as it shall be. Root may write for a server that runs as somebody else: a file keeps its owner.
 */
export function writePrivateFile(path: string, text: string): void {
  const temporary = `${path}.new`;
  rmSync(temporary, { force: true }); // of a writer that was killed
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

/** A rename lasts when the folder is on the disk. */
export function syncFolder(path: string): void {
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
