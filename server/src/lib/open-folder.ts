/**
 * Folders that programs can write to, opened by descriptor. A program may replace any entry by a link at any moment, so
 * a path of several such folders must never reach a system call. `folderPath` gives a path that begins at a descriptor;
 * callers append one name and must not follow it.
 *
 * Paths are latin1 texts, one character per byte, so that any name survives; `pathBytes` encodes them for system calls.
 */
import { chmodSync, closeSync, constants, fstatSync, openSync } from "node:fs";

/** A flag of open(2) that Node does not define: a descriptor that needs no permission on the folder itself. */
const O_PATH = 0o10000000;
const isLinux = process.platform === "linux";

/** Follows no link. If the owner has no permission on the folder, it is given all of them first. */
export function openFolder(path: string): number {
  const open = (access: number): number =>
    openSync(pathBytes(path), access | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    return open(constants.O_RDONLY);
  } catch (error) {
    if (!isDenied(error) || !isLinux) throw error;
  }
  // A program with our own user id has changed the mode. Changing it back by path would be unsafe: the program could
  // replace the folder with a link meanwhile.
  const descriptor = open(O_PATH);
  try {
    chmodSync(folderPath(descriptor, path), openedMode(descriptor));
  } finally {
    closeSync(descriptor);
  }
  return open(constants.O_RDONLY);
}

/** `path`: used on systems where a folder cannot be reached by its descriptor. */
export function folderPath(descriptor: number, path: string): string {
  return isLinux ? `/proc/self/fd/${descriptor}` : path;
}

/** The mode of the folder, with all permissions for its owner. */
export function openedMode(descriptor: number): number {
  return (fstatSync(descriptor).mode & 0o7777) | 0o700;
}

export function isDenied(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "EACCES" || error.code === "EPERM");
}

export function pathBytes(path: string): Buffer {
  return Buffer.from(path, "latin1");
}
