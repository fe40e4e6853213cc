import { chmodSync, closeSync, constants, lstatSync, opendirSync, openSync, statfsSync, type Stats } from "node:fs";

/** Deeper than any program needs: what lies there is not looked at, and counts as endless. */
const MAX_DEPTH = 256;
const ENTRIES_PER_STEP = 64;
const BLOCK_BYTES = 512;
const isLinux = process.platform === "linux";

/**
 * The room that a folder takes on its disk. It is a generator that stops after every few entries, so that the caller can
 * spread a large folder over time. Each file and folder counts with at least `leastBytes`, because it takes an inode of
 * the disk even when it is empty (`bytesPerInode`). A program may have hidden the folder's content in any way it can:
 * by modes, by names that are no text, or by paths that are too long for a call.
 */
export function* measureUsage(path: string, leastBytes: number, depth = 0): Generator<undefined, number> {
  if (depth > MAX_DEPTH) return Infinity;
  const descriptor = openFolder(path);
  if (descriptor === undefined) return 0;
  try {
    // A path by descriptor is short at any depth.
    const here = isLinux ? `/proc/self/fd/${descriptor}` : path;
    const folder = opendirSync(here, { encoding: "latin1", bufferSize: 256 });
    try {
      let bytes = 0;
      let entries = 0;
      for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
        const inside = `${here}/${entry.name}`;
        const stats = lstatSync(pathBytes(inside), { throwIfNoEntry: false });
        if (stats === undefined) continue;
        bytes += bytesOf(stats, leastBytes);
        if (stats.isDirectory()) bytes += yield* measureUsage(inside, leastBytes, depth + 1);
        if (++entries % ENTRIES_PER_STEP === 0) yield;
      }
      return bytes;
    } finally {
      folder.closeSync();
    }
  } finally {
    closeSync(descriptor);
  }
}

/** A file that several names share is counted once in all. */
export function bytesOf(stats: Stats, leastBytes: number): number {
  const names = stats.isDirectory() ? 1 : Math.max(1, stats.nlink);
  return Math.max(leastBytes, (stats.blocks * BLOCK_BYTES) / names);
}

function openFolder(path: string, isRetry = false): number | undefined {
  const bytes = pathBytes(path);
  try {
    return openSync(bytes, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (error) {
    const isClosed = error instanceof Error && "code" in error && error.code === "EACCES";
    if (!isClosed || isRetry) return undefined;
    try {
      chmodSync(bytes, 0o700); // a program of our own user has closed it
    } catch {
      return undefined;
    }
    return openFolder(path, true);
  }
}

/** Names come as bytes, one to a character. */
function pathBytes(path: string): Buffer {
  return Buffer.from(path, "latin1");
}

export interface Disk {
  readonly sizeBytes: number;
  readonly freeBytes: number;
  /** What one file more takes of the disk, as a share of its inodes. */
  readonly bytesPerInode: number;
}

const LEAST_FILE_BYTES = 4096;
const MOST_FILE_BYTES = 65_536;

/** Undefined when the path is gone. */
export function readDisk(path: string): Disk | undefined {
  try {
    const { bsize, blocks, bavail, files } = statfsSync(path);
    const perInode = files > 0 ? (blocks * bsize) / files : 0; // 0: the file system makes inodes as it needs them
    return {
      sizeBytes: blocks * bsize,
      freeBytes: bavail * bsize,
      bytesPerInode: Math.min(MOST_FILE_BYTES, Math.max(LEAST_FILE_BYTES, Math.round(perInode))),
    };
  } catch {
    return undefined;
  }
}
