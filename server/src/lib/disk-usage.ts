import { closeSync, fchmodSync, lstatSync, opendirSync, statfsSync, type Stats } from "node:fs";
import { folderPath, isDenied, openedMode, openFolder, pathBytes } from "./open-folder.ts";
import { sizeText } from "./size-text.ts";

/** Deeper than any program needs. Deeper folders are not read and count as infinite. */
const MAX_DEPTH = 256;
const ENTRIES_PER_STEP = 64;
const BLOCK_BYTES = 512;

/** Shared by all folders of one measurement. */
interface Progress {
  entries: number;
}

/**
 * The space that a folder takes on its disk. It is a generator that yields at every folder and after every few entries,
 * so that the caller can spread a large folder over time. Each file and folder counts at least `minBytes`, because even
 * an empty one takes an inode of the disk (`bytesPerInode`). Programs may try to hide the content: by file modes, by
 * names that are not valid text, or by paths that are too long for a system call. It never throws: a part that cannot
 * be read counts as infinite.
 */
export function* measureUsage(path: string, minBytes: number): Generator<undefined, number> {
  return yield* measureFolder(path, minBytes, 0, { entries: 0 });
}

function* measureFolder(
  path: string,
  minBytes: number,
  depth: number,
  progress: Progress,
): Generator<undefined, number> {
  if (depth > MAX_DEPTH) return Infinity;
  yield;
  let descriptor: number | undefined;
  try {
    descriptor = openFolder(path);
    return yield* measureEntries(descriptor, path, minBytes, depth, progress);
  } catch (error) {
    return isGone(error) ? 0 : Infinity;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Deleted, or replaced by a file or link. */
function isGone(error: unknown): boolean {
  return error instanceof Error && "code" in error && ["ENOENT", "ENOTDIR", "ELOOP"].includes(String(error.code));
}

function* measureEntries(
  descriptor: number,
  path: string,
  minBytes: number,
  depth: number,
  progress: Progress,
): Generator<undefined, number> {
  // A path through the descriptor is short at any depth.
  const here = folderPath(descriptor, path);
  const folder = opendirSync(here, { encoding: "latin1", bufferSize: 256 });
  try {
    let bytes = 0;
    for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
      if (++progress.entries % ENTRIES_PER_STEP === 0) yield;
      const inside = `${here}/${entry.name}`;
      const stats = statEntry(inside, descriptor);
      if (stats === undefined) continue;
      bytes += bytesOf(stats, minBytes);
      if (stats.isDirectory()) bytes += yield* measureFolder(inside, minBytes, depth + 1, progress);
    }
    return bytes;
  } finally {
    folder.closeSync();
  }
}

/** The end of a sentence about files: `take 3g`. */
export function usageText(bytes: number): string {
  return Number.isFinite(bytes)
    ? `take ${sizeText(bytes)}`
    : `cannot be measured (unreadable folders, folders more than ${MAX_DEPTH} levels deep, or too many open files)`;
}

/** A file with several hard links is counted in equal shares, so once in total. */
export function bytesOf(stats: Stats, minBytes: number): number {
  const names = stats.isDirectory() ? 1 : Math.max(1, stats.nlink);
  return Math.max(minBytes, (stats.blocks * BLOCK_BYTES) / names);
}

/**
 * In a folder that can be read but not searched, entries can be listed but not inspected. Undefined: the entry is gone.
 */
function statEntry(path: string, folder: number): Stats | undefined {
  const bytes = pathBytes(path);
  try {
    return lstatSync(bytes, { throwIfNoEntry: false });
  } catch (error) {
    if (!isDenied(error)) return undefined;
    fchmodSync(folder, openedMode(folder));
    return lstatSync(bytes, { throwIfNoEntry: false });
  }
}

export interface Disk {
  readonly sizeBytes: number;
  readonly freeBytes: number;
  /** The share of the disk that belongs to one inode: the least that a file takes. */
  readonly bytesPerInode: number;
}

const MIN_FILE_BYTES = 4096;
const MAX_FILE_BYTES = 65_536;

/** Undefined if the path does not exist. */
export function readDisk(path: string): Disk | undefined {
  try {
    const { bsize, blocks, bavail, files } = statfsSync(path);
    const perInode = files > 0 ? (blocks * bsize) / files : 0; // 0: the file system creates inodes on demand
    return {
      sizeBytes: blocks * bsize,
      freeBytes: bavail * bsize,
      bytesPerInode: Math.min(MAX_FILE_BYTES, Math.max(MIN_FILE_BYTES, Math.round(perInode))),
    };
  } catch {
    return undefined;
  }
}
