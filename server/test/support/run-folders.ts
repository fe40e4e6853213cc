import { spawn } from "node:child_process";
import { accessSync, chmodSync, constants, mkdtempSync, rmSync, statfsSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folders of a test run. Their names identify the processes that belong to the run. */
export interface RunFolders {
  /** For files that a program in a sandbox has to see: the sandbox hides the machine's temporary folder. */
  readonly outsideTmp: string;
  /** For PostgreSQL: every server has a copy of a database of a thousand files, which is faster in memory. */
  readonly database: string;
  remove(): void;
}

/** The variable with the folder for databases, for this process and its children. */
export const DATABASES_FOLDER = "TEST_DATABASES_FOLDER";
const TMPFS = 0x01021994;
/** The databases take a few hundred MiB. */
const ROOM_BYTES = 4 * 1024 ** 3;

/**
 * Gives this process and its children a temporary folder that belongs to the run. If the run is killed, what is
 * left is ended.
 */
export function makeRunFolders(): RunFolders {
  const tmp = mkdtempSync(join(tmpdir(), "headgate-run-"));
  const outsideTmp = mkdtempSync("/var/tmp/headgate-run-");
  const database = mkdtempSync(join(findMemoryFolder() ?? tmp, "headgate-run-"));
  const folders = [tmp, outsideTmp, database];
  for (const folder of folders) chmodSync(folder, 0o755);
  const before = process.env.TMPDIR;
  process.env.TMPDIR = tmp;
  process.env[DATABASES_FOLDER] = database;
  const noteDone = endWithThisProcess(folders);
  return {
    outsideTmp,
    database,
    remove() {
      for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
      if (before === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = before;
      delete process.env[DATABASES_FOLDER];
      noteDone();
    },
  };
}

/**
 * When this process has ended for any reason, even by SIGKILL, a separate process ends those whose command line or
 * environment names one of the folders, and removes the folders. Returns a function that calls this off.
 */
export function endWithThisProcess(folders: readonly string[]): () => void {
  const script = fileURLToPath(new URL("end-test-run.sh", import.meta.url));
  const child = spawn("/bin/sh", [script], {
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  const { stdin } = child;
  child.unref();
  (stdin as Socket).unref(); // Node's pipes are sockets
  stdin.write(folders.map((folder) => `${folder}\n`).join(""));
  return () => void stdin.end("done\n");
}

/** Undefined without a file system in memory that has enough room, for example on macOS and in many containers. */
function findMemoryFolder(): string | undefined {
  const folder = "/dev/shm";
  if (!isWritable(folder)) return undefined;
  const { type, bavail, bsize } = statfsSync(folder);
  return type === TMPFS && Math.min(bavail * bsize, process.availableMemory()) >= ROOM_BYTES ? folder : undefined;
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
