import { chmodSync, closeSync, mkdirSync, openSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Fault } from "../../lib/fault.ts";

/** Proof that this process alone works on a data directory; whoever needs that asks for the lock as an argument. */
export interface DataDirLock {
  /** Absolute, symbolic links resolved: processes are recognised by it later. */
  readonly dataDir: string;
  release(): void;
}

/**
 * One Headgate per data directory. Node has no flock, but the SQLite inside it takes the same kind of kernel lock on
 * a file: an open write transaction is the lock. It ends with the process whatever ends it, knows no reused pids, and
 * holds between containers that share a volume. The pid, for the message only, sits in the file's `user_version`.
 */
export function lockDataDir(dataDir: string): DataDirLock {
  makeDataDir(dataDir);
  const path = join(dataDir, "headgate.lock");
  closeSync(openSync(path, "a", 0o600));
  const file = new DatabaseSync(path);
  try {
    // The content is worth nothing after a crash: no journal file, no sync.
    file.exec("PRAGMA busy_timeout = 0; PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF");
    file.exec(`BEGIN IMMEDIATE; PRAGMA user_version = ${process.pid}; COMMIT; BEGIN IMMEDIATE`);
  } catch (error) {
    const holder = isBusy(error) ? readHolder(file) : undefined;
    file.close();
    if (holder === undefined) throw new Fault("internal", `${path} cannot be locked`, { cause: error });
    throw new Fault("conflict", `another Headgate (pid ${holder}) uses ${dataDir}`, { cause: error });
  }
  return { dataDir: realpathSync(dataDir), release: () => file.close() };
}

/** As root other users have to get through it, to what is theirs below; what they must not read is closed itself. */
function makeDataDir(dataDir: string): void {
  const created = mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  if (created !== undefined && process.getuid?.() === 0) chmodSync(dataDir, 0o711);
}

function readHolder(file: DatabaseSync): string {
  try {
    // The holder may be writing its pid at this moment.
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
