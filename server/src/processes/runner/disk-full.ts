import { statfsSync } from "node:fs";

const MIN_BYTES = 1024 * 1024;

/** Whether so little space is left that a failure of a program is most likely due to it. */
export function isFilesystemFull(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize < MIN_BYTES;
  } catch {
    return false; // the folder is gone
  }
}

export function isDiskFullError(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOSPC" || error.code === "EDQUOT");
}
