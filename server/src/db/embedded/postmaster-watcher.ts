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

/**
 * A small process beside the server that outlives us, even a SIGKILL: it ends the server as soon as nothing needs it any
 * more (`end-postmaster.sh`). The next Headgate ends it first, so that it cannot stop a server that was just taken over.
 */
export interface PostmasterWatcher {
  /** From now on it is this one that has to end with us. */
  follow(postmaster: { readonly pid: number }): void;
  /** We have ended the server ourselves. */
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
  if (pid === undefined) throw new Fault("internal", "no process can be started beside PostgreSQL");
  const startTime = startTimeOfChild(pid); // before anything is awaited: one that ended still has its entry
  stdin.on("error", () => undefined); // it was killed: then only we end the server
  child.unref();
  (stdin as Socket).unref(); // as Node makes its pipes
  const self: WatcherFile = { bootId: await readBootId(), pid, startTime: (await startTime) ?? "" };
  writePrivateFile(watcherFile(cluster), JSON.stringify(self));
  return {
    follow(postmaster) {
      startTimeOfChild(postmaster.pid).then(
        (begun) => stdin.write(`${postmaster.pid} ${begun ?? ""}\n`),
        () => undefined, // it has ended already
      );
    },
    close: () => stdin.end(),
  };
}

const WAIT_MS = 10;

/** Settles when the watcher of an earlier Headgate is gone. */
export async function endPostmasterWatcher(cluster: Cluster): Promise<void> {
  const text = await readFile(watcherFile(cluster), "utf8").catch(() => undefined);
  if (text === undefined) return;
  const { bootId, pid, startTime } = JSON.parse(text) as WatcherFile; // written above
  if (bootId !== (await readBootId())) return;
  while ((await findProcessLinks(pid))?.startTime === startTime) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      return; // it has ended since we looked
    }
    await delay(WAIT_MS);
  }
}

function watcherFile({ folder }: Cluster): string {
  return join(folder, "watcher.json");
}
