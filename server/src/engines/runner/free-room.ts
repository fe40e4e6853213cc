import { statfsSync } from "node:fs";

const LEAST_BYTES = 1024 * 1024;

/** Whether the disk of that path has next to nothing left for a program: then what fails there fails because of it. */
export function isFull(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize < LEAST_BYTES;
  } catch {
    return false; // the folder is gone, which is another matter
  }
}

export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOSPC" || error.code === "EDQUOT");
}
