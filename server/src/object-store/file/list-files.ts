import { lstat, readdir } from "node:fs/promises";
import type { Dirent } from "node:fs";
import type { ObjectStat } from "../object-store.ts";
import type { Folder } from "./folder.ts";
import { fileStat } from "./stat-of.ts";

export interface ListedFile extends ObjectStat {
  /** Below the root, with `/` between names. */
  name: string;
}

/** Names of unfinished writes, which listings omit. */
export const unfinishedName = /^\.put-[0-9a-f]{16}$/;

/**
 * Regular files below a folder whose names start with the prefix and sort after `after`, in byte order as in S3. Holds the
 * names of one folder per level in memory, not of the whole tree.
 */
export async function* listFiles(
  folder: Folder,
  path: string,
  prefix: string,
  after: string | undefined,
): AsyncGenerator<ListedFile> {
  for (const entry of await sortedEntries(folder)) {
    const name = `${path}${entry.name}`;
    if (entry.isDirectory()) {
      const below = `${name}/`;
      const mayMatch = below.startsWith(prefix) || prefix.startsWith(below);
      if (mayMatch && !endsBefore(below, after)) yield* listBelow(folder, entry.name, below, prefix, after);
    } else if (
      entry.isFile() &&
      name.startsWith(prefix) &&
      !unfinishedName.test(entry.name) &&
      !isAtMost(name, after)
    ) {
      const stats = await orGone(lstat(folder.entry(entry.name), { bigint: true }));
      if (stats?.isFile() === true) yield { name, ...fileStat(stats) };
    }
  }
}

async function* listBelow(
  parent: Folder,
  entryName: string,
  path: string,
  prefix: string,
  after: string | undefined,
): AsyncGenerator<ListedFile> {
  const folder = await orGone(parent.enter(entryName));
  if (folder === undefined) return;
  try {
    yield* listFiles(folder, path, prefix, after);
  } finally {
    await folder.close();
  }
}

/** A folder sorts by its name with a slash, like the names below it: `a.b` is before `a/b`. */
async function sortedEntries(folder: Folder): Promise<Dirent[]> {
  const entries = await readdir(folder.path, { withFileTypes: true });
  return entries
    .map((entry) => ({ entry, bytes: Buffer.from(entry.isDirectory() ? `${entry.name}/` : entry.name) }))
    .sort((a, b) => a.bytes.compare(b.bytes))
    .map(({ entry }) => entry);
}

function isAtMost(name: string, after: string | undefined): boolean {
  return after !== undefined && Buffer.from(name).compare(Buffer.from(after)) <= 0;
}

/** Whether everything below this folder sorts before `after`. */
function endsBefore(below: string, after: string | undefined): boolean {
  return after !== undefined && !after.startsWith(below) && isAtMost(below, after);
}

/** Undefined if the entry was removed or replaced by a link during the listing. */
async function orGone<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR" || code === "ELOOP") return undefined;
    throw error;
  }
}
