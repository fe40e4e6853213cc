import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";

const tryAgainMs = 500;
const sqliteBusy = 5;

/**
 * One set-up at a time in a cache, whichever processes share it. Node has no flock; the SQLite inside it takes the same
 * kind of kernel lock, which ends with its process whatever ends that.
 */
export async function withSetUpLock<T>(
  path: string,
  signal: AbortSignal,
  onWait: () => void,
  work: () => Promise<T>,
): Promise<T> {
  const file = new DatabaseSync(path, { timeout: 0 });
  try {
    file.exec("PRAGMA journal_mode = MEMORY"); // nothing is ever written: no file beside it
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
