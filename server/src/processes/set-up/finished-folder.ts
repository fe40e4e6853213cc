import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";

const partial = ".partial-";

/**
 * Creates the folder under another name and renames it at the end, so that an existing folder is always complete. The
 * leftovers of a killed set-up are removed first; the caller holds the lock, so they are not in use. All users can read
 * the folder, whatever the umask is, because programs run as other users.
 */
export async function makeFinishedFolder(folder: string, fill: (folder: string) => Promise<void>): Promise<void> {
  if (existsSync(folder)) return;
  await removeLeftovers(folder);
  const unfinished = `${folder}${partial}${randomBytes(6).toString("hex")}`;
  try {
    await mkdir(unfinished);
    await fill(unfinished);
    await openToReaders(unfinished);
    await rename(unfinished, folder);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  }
}

async function removeLeftovers(folder: string): Promise<void> {
  const prefix = `${basename(folder)}${partial}`;
  for (const name of await readdir(dirname(folder))) {
    if (name.startsWith(prefix)) await rm(join(dirname(folder), name), { recursive: true, force: true });
  }
}

async function openToReaders(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await openToReaders(path);
    else if (entry.isFile()) await chmod(path, (await isProgram(folder, path)) ? 0o755 : 0o644);
  }
}

/** Wheels keep the mode of their files. Packages built from source lose it, so their folders decide. */
async function isProgram(folder: string, path: string): Promise<boolean> {
  return /\/s?bin$|\/wrappers$/.test(folder) || ((await stat(path)).mode & 0o100) !== 0;
}

const tryAgainMs = 500;
const sqliteBusy = 5;

/**
 * Allows one set-up at a time in a cache that several processes share. Node has no flock, but its SQLite takes the same
 * kind of kernel lock, which is released whenever the process ends.
 */
export async function withSetUpLock<T>(
  path: string,
  signal: AbortSignal,
  onWait: () => void,
  work: () => Promise<T>,
): Promise<T> {
  const file = new DatabaseSync(path, { timeout: 0 });
  try {
    file.exec("PRAGMA journal_mode = MEMORY"); // nothing is ever written, so no journal file is needed
    for (let waited = false; !tryLock(file); waited = true) {
      if (!waited) onWait();
      await sleep(tryAgainMs, undefined, { signal });
    }
    return await work();
  } finally {
    file.close();
  }
}

function tryLock(file: DatabaseSync): boolean {
  try {
    file.exec("BEGIN IMMEDIATE");
    return true;
  } catch (error) {
    if (error instanceof Error && "errcode" in error && error.errcode === sqliteBusy) return false;
    throw error;
  }
}
