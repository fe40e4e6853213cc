import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Where a whole test run keeps its files, so that what belongs to it can be found and ended by their names. */
export interface RunFolders {
  /** For what a program in a sandbox has to see: it has a temporary folder of its own in place of the machine's. */
  readonly outsideTmp: string;
  remove(): void;
}

/**
 * The temporary folder of this process and its children becomes one of the run's own. When the run is killed, a process
 * of its own ends what is left (`end-test-run.sh`).
 */
export function makeRunFolders(): RunFolders {
  const tmp = mkdtempSync(join(tmpdir(), "headgate-run-"));
  const outsideTmp = mkdtempSync("/var/tmp/headgate-run-");
  const folders = [tmp, outsideTmp];
  for (const folder of folders) chmodSync(folder, 0o755);
  const before = process.env.TMPDIR;
  process.env.TMPDIR = tmp;
  const script = fileURLToPath(new URL("end-test-run.sh", import.meta.url));
  const child = spawn("/bin/sh", [script], {
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  const { stdin } = child;
  child.unref();
  (stdin as Socket).unref(); // as Node makes its pipes
  stdin.write(folders.map((folder) => `${folder}\n`).join(""));
  return {
    outsideTmp,
    remove() {
      for (const folder of folders) rmSync(folder, { recursive: true, force: true });
      if (before === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = before;
      stdin.end("done\n");
    },
  };
}
