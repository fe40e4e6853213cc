import { closeSync, openSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Fault } from "../../lib/fault.ts";
import { makeReachableFolder } from "./unprivileged-user.ts";

/** Proves that no other process uses the data directory. Functions that rely on this take the lock as an argument. */
export interface DataDirLock {
  /** An absolute path with symbolic links resolved: processes are recognised by it later. */
  readonly dataDir: string;
  release(): void;
}

/** How long a look at the holder waits for the lock. */
const BRIEF_WAIT_MS = 200;

/** Prevents garbage collection, which would close the file and so release the lock. */
const held = new Set<DatabaseSync>();

/**
 * Allows one Headgate per data directory. Node has no flock, but its SQLite takes the same kind of kernel lock on a
 * file: an open write transaction is the lock. It is released however the process ends, does not depend on pids, and
 * works between containers that share a volume. The pid in the file's `user_version` is only for the message.
 *
 * `waitMs`: how long to wait for a held lock. `findDataDirHolder` takes it for a moment, which has lasted more than 200 ms
 * on a busy machine.
 */
export function lockDataDir(dataDir: string, waitMs = 1000): DataDirLock {
  makeReachableFolder(dataDir, "HEADGATE_DATA_DIR");
  const path = join(dataDir, "headgate.lock");
  const file = openPrivately(path, waitMs);
  try {
    // The content is not needed after a crash: no journal file, no sync.
    file.exec("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF");
    file.exec(`BEGIN IMMEDIATE; PRAGMA user_version = ${process.pid}; COMMIT; BEGIN IMMEDIATE`);
  } catch (error) {
    const holder = isBusy(error) ? readHolder(file) : undefined;
    file.close();
    if (holder === undefined) throw new Fault("internal", `${path} cannot be locked`, { cause: error });
    const remedy = "if it is a server, `npm run admin -- stop` stops it; otherwise wait until that command has ended";
    throw new Fault("conflict", `another Headgate (pid ${holder}) uses ${dataDir}: ${remedy}`, { cause: error });
  }
  held.add(file);
  const release = (): void => {
    if (held.delete(file)) file.close();
  };
  return { dataDir: realpathSync(dataDir), release };
}

/** The pid of the Headgate that uses a data directory; undefined if there is none. */
export function findDataDirHolder(dataDir: string): string | undefined {
  const path = join(dataDir, "headgate.lock");
  if (!exists(path)) return undefined;
  const file = openPrivately(path, BRIEF_WAIT_MS);
  try {
    file.exec("BEGIN IMMEDIATE");
    return undefined;
  } catch (error) {
    if (!isBusy(error)) throw error;
    return readHolder(file);
  } finally {
    file.close();
  }
}

/** A file that this user cannot see is not a missing one: a server may have locked it. */
function exists(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (cause) {
    throw notUsable(path, cause);
  }
}

function openPrivately(path: string, waitMs: number): DatabaseSync {
  try {
    closeSync(openSync(path, "a", 0o600));
    return new DatabaseSync(path, { timeout: waitMs });
  } catch (cause) {
    throw notUsable(path, cause);
  }
}

function notUsable(path: string, cause: unknown): Fault {
  return new Fault(
    "invalid",
    `HEADGATE_DATA_DIR: ${path} cannot be read and written by this user: run Headgate and its commands as its owner, ` +
      "or set another folder",
    { cause },
  );
}

function readHolder(file: DatabaseSync): string {
  try {
    // The holder may be writing its pid right now.
    file.exec("PRAGMA busy_timeout = 500");
    return String(file.prepare("PRAGMA user_version").get()?.["user_version"] ?? "unknown");
  } catch {
    return "unknown";
  }
}

const sqliteBusy = 5;

function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && error.errcode === sqliteBusy;
}
