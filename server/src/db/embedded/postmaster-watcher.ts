/**
 * A small process that outlives Headgate, even after a SIGKILL, and stops the PostgreSQL server as soon as no process
 * needs it (`end-postmaster.sh`). The next Headgate first ends the watcher, so that it cannot stop a server that was
 * just adopted.
 */
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Fault } from "../../lib/fault.ts";
import { writePrivateFile } from "../../lib/private-file.ts";
import { findProcessLinks, readBootId, startTimeOfChild } from "../../lib/process-table.ts";
import type { Cluster } from "./cluster.ts";

export interface PostmasterWatcher {
  /** Sets the postmaster that the watcher stops. */
  follow(postmaster: { readonly pid: number }): void;
  /** To be called after the server was stopped: the watcher then exits. */
  close(): void;
}

interface WatcherFile {
  readonly bootId: string;
  readonly pid: number;
  readonly startTime: string;
}

const script = fileURLToPath(new URL("end-postmaster.sh", import.meta.url));

export async function startPostmasterWatcher(cluster: Cluster): Promise<PostmasterWatcher> {
  const child = spawn("/bin/sh", [script, cluster.roster], {
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  }).on("error", () => undefined);
  const { pid, stdin } = child;
  if (pid === undefined) throw new Fault("internal", "the PostgreSQL watcher process cannot be started");
  const startTime = startTimeOfChild(pid); // before any await: until then even an exited child is in the process table
  stdin.on("error", () => undefined); // the watcher was killed: if Headgate dies too, nothing stops the server
  child.unref();
  (stdin as Socket).unref(); // Node's pipes are sockets
  const self: WatcherFile = { bootId: await readBootId(), pid, startTime: (await startTime) ?? "" };
  writePrivateFile(watcherFile(cluster), JSON.stringify(self));
  return {
    follow(postmaster) {
      startTimeOfChild(postmaster.pid).then(
        (begun) => stdin.write(`${postmaster.pid} ${begun ?? ""}\n`),
        () => undefined, // it has already ended
      );
    },
    close: () => stdin.end(),
  };
}

const WAIT_MS = 10;

/** Resolves when the watcher of an earlier Headgate has ended. */
export async function endPostmasterWatcher(cluster: Cluster): Promise<void> {
  const text = await readFile(watcherFile(cluster), "utf8").catch(() => undefined);
  if (text === undefined) return;
  const { bootId, pid, startTime } = JSON.parse(text) as WatcherFile; // written above
  if (bootId !== (await readBootId())) return;
  while ((await findProcessLinks(pid))?.startTime === startTime) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      return; // it has ended meanwhile
    }
    await delay(WAIT_MS);
  }
}

function watcherFile({ folder }: Cluster): string {
  return join(folder, "watcher.json");
}
