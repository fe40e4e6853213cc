import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";

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
