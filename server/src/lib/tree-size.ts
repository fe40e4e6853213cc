import type { Dirent } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";

const BLOCK_BYTES = 4096;
/** Programs may nest folders deeper than a system call allows; deeper content is not counted. */
const MAX_DEPTH = 32;

/** The bytes that a file or folder takes, in whole blocks; 0 if it does not exist. Follows no links. */
export async function treeSize(path: string, depth = 0): Promise<number> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) return fileSize(path);
  let bytes = 0;
  for (const entry of entries) bytes += await entrySize(path, entry, depth);
  return bytes;
}

function entrySize(folder: string, entry: Dirent, depth: number): Promise<number> {
  const path = join(folder, entry.name);
  if (!entry.isDirectory()) return fileSize(path);
  return depth < MAX_DEPTH ? treeSize(path, depth + 1) : Promise.resolve(0);
}

async function fileSize(path: string): Promise<number> {
  const stats = await lstat(path).catch(() => undefined);
  return stats?.isFile() === true ? Math.ceil(stats.size / BLOCK_BYTES) * BLOCK_BYTES : 0;
}
