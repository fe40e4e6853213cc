import { closeSync, existsSync, openSync, realpathSync } from "node:fs";
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

/** Prevents garbage collection, which would close the file and so release the lock. */
const held = new Set<DatabaseSync>();

/**
 * Allows one Headgate per data directory. Node has no flock, but its SQLite takes the same kind of kernel lock on a
 * file: an open write transaction is the lock. It is released however the process ends, does not depend on pids, and
 * works between containers that share a volume. The pid in the file's `user_version` is only for the message.
 */
export function lockDataDir(dataDir: string): DataDirLock {
  makeReachableFolder(dataDir, "HEADGATE_DATA_DIR");
  const path = join(dataDir, "headgate.lock");
  const file = openPrivately(path);
  try {
    // The content is not needed after a crash: no journal file, no sync.
    file.exec("PRAGMA busy_timeout = 0; PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF");
    file.exec(`BEGIN IMMEDIATE; PRAGMA user_version = ${process.pid}; COMMIT; BEGIN IMMEDIATE`);
  } catch (error) {
    const holder = isBusy(error) ? readHolder(file) : undefined;
    file.close();
    if (holder === undefined) throw new Fault("internal", `${path} cannot be locked`, { cause: error });
    throw new Fault("conflict", `another Headgate (pid ${holder}) uses ${dataDir}`, { cause: error });
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
  if (!existsSync(path)) return undefined;
  const file = openPrivately(path);
  try {
    file.exec("PRAGMA busy_timeout = 0; BEGIN IMMEDIATE");
    return undefined;
  } catch (error) {
    if (!isBusy(error)) throw error;
    return readHolder(file);
  } finally {
    file.close();
  }
}

function openPrivately(path: string): DatabaseSync {
  try {
    closeSync(openSync(path, "a", 0o600));
    return new DatabaseSync(path);
  } catch (cause) {
    throw new Fault(
      "invalid",
      `HEADGATE_DATA_DIR: ${path} cannot be written by this user: start Headgate as its owner, or set another folder`,
      { cause },
    );
  }
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
