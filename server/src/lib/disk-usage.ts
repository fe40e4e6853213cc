import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  statfsSync,
  type Stats,
} from "node:fs";
import { sizeText } from "./size-text.ts";

/** Deeper than any program needs: what lies there is not looked at, and counts as endless. */
const MAX_DEPTH = 256;
const ENTRIES_PER_STEP = 64;
const BLOCK_BYTES = 512;
/** Of open(2): a descriptor that needs no permission on the folder itself. Node has no name for it. */
const O_PATH = 0o10000000;
const isLinux = process.platform === "linux";

/** Counts over the whole of a measurement. */
interface Progress {
  entries: number;
}

/**
 * The room that a folder takes on its disk. It is a generator that stops at every folder and after every few entries, so
 * that the caller can spread a large folder over time. Each file and folder counts with at least `leastBytes`, because it
 * takes an inode of the disk even when it is empty (`bytesPerInode`). A program may have hidden the folder's content in
 * any way it can: by modes, by names that are no text, or by paths that are too long for a call. It never throws: a part
 * that cannot be looked at counts as endless.
 */
export function* measureUsage(path: string, leastBytes: number): Generator<undefined, number> {
  return yield* measureFolder(path, leastBytes, 0, { entries: 0 });
}

function* measureFolder(
  path: string,
  leastBytes: number,
  depth: number,
  progress: Progress,
): Generator<undefined, number> {
  if (depth > MAX_DEPTH) return Infinity;
  yield;
  let descriptor: number | undefined;
  try {
    descriptor = openFolder(path);
    return yield* measureEntries(descriptor, path, leastBytes, depth, progress);
  } catch (error) {
    return isClosed(error) ? Infinity : 0; // 0: it is gone, or no folder any more
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function* measureEntries(
  descriptor: number,
  path: string,
  leastBytes: number,
  depth: number,
  progress: Progress,
): Generator<undefined, number> {
  // A path by descriptor is short at any depth.
  const here = isLinux ? `/proc/self/fd/${descriptor}` : path;
  const folder = opendirSync(here, { encoding: "latin1", bufferSize: 256 });
  try {
    let bytes = 0;
    for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
      if (++progress.entries % ENTRIES_PER_STEP === 0) yield;
      const inside = `${here}/${entry.name}`;
      const stats = statEntry(inside, descriptor);
      if (stats === undefined) continue;
      bytes += bytesOf(stats, leastBytes);
      if (stats.isDirectory()) bytes += yield* measureFolder(inside, leastBytes, depth + 1, progress);
    }
    return bytes;
  } finally {
    folder.closeSync();
  }
}

/** How a sentence about files goes on: `take 3g`. */
export function usageText(bytes: number): string {
  return Number.isFinite(bytes)
    ? `take ${sizeText(bytes)}`
    : `cannot be counted (folders that are closed or more than ${MAX_DEPTH} deep, or too many open files)`;
}

/** A file that several names share is counted once in all. */
export function bytesOf(stats: Stats, leastBytes: number): number {
  const names = stats.isDirectory() ? 1 : Math.max(1, stats.nlink);
  return Math.max(leastBytes, (stats.blocks * BLOCK_BYTES) / names);
}

/** A folder that may be read and not searched lists its entries and shows none. Undefined: the entry is gone. */
function statEntry(path: string, folder: number): Stats | undefined {
  const bytes = pathBytes(path);
  try {
    return lstatSync(bytes, { throwIfNoEntry: false });
  } catch (error) {
    if (!isClosed(error)) return undefined;
    fchmodSync(folder, openedMode(folder));
    return lstatSync(bytes, { throwIfNoEntry: false });
  }
}

function openFolder(path: string): number {
  const open = (access: number): number =>
    openSync(pathBytes(path), access | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    return open(constants.O_RDONLY);
  } catch (error) {
    if (!isClosed(error) || !isLinux) throw error;
  }
  // A program of our own user has closed it. By its path, it could put a link to another folder in its place meanwhile.
  const descriptor = open(O_PATH);
  try {
    chmodSync(`/proc/self/fd/${descriptor}`, openedMode(descriptor));
  } finally {
    closeSync(descriptor);
  }
  return open(constants.O_RDONLY);
}

function openedMode(descriptor: number): number {
  return (fstatSync(descriptor).mode & 0o7777) | 0o700;
}

function isClosed(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "EACCES" || error.code === "EPERM");
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
