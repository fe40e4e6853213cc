import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Fault } from "../../lib/fault.ts";
import type { Log } from "../../lib/log.ts";
import type { Secret } from "../../lib/secret.ts";
import { describeCluster, isPostmaster, isServerChild, readPostmasterPid, type Cluster } from "./cluster.ts";
import type { DataDirLock } from "./data-dir-lock.ts";
import { endPostmasterWatcher } from "./postmaster-watcher.ts";
import { shutDown, watchPostmaster, type Postmaster } from "./postmaster.ts";
import type { Endpoint } from "./postgres-settings.ts";
import { probe } from "./superuser.ts";
import { findProcess, listProcesses } from "../../lib/process-table.ts";
import { findUnprivilegedUser } from "./unprivileged-user.ts";

export interface Expectation {
  readonly endpoint: Endpoint;
  readonly fingerprint: string;
  readonly password: Secret;
}

/**
 * Handles the server that a killed Headgate could not stop:
 *
 * | pid in postmaster.pid                     | action                                            |
 * |-------------------------------------------|---------------------------------------------------|
 * | our server, with the expected settings    | adopted                                           |
 * | our server, other settings or no response | stopped                                           |
 * | no process, a zombie, another program     | the file is removed; no other program is signalled |
 *
 * Children outlive a killed postmaster for a moment and hold its shared memory, so they are always waited for.
 */
export async function settleLeftover(
  cluster: Cluster,
  expected: Expectation | undefined,
  log: Log,
): Promise<Postmaster | undefined> {
  const left = await readPostmasterPid(cluster);
  const facts = left === undefined ? undefined : await findProcess(left.pid);
  if (facts !== undefined && isPostmaster(cluster, facts)) {
    const postmaster = watchPostmaster(facts);
    if (expected !== undefined && (await runsAsExpected(cluster, postmaster, expected))) {
      log.info({ pid: postmaster.pid }, "adopted the running PostgreSQL");
      return postmaster;
    }
    log.info({ pid: postmaster.pid }, "stopping the PostgreSQL that an earlier Headgate left running");
    await shutDown(postmaster);
  }
  await endOrphans(cluster);
  // PostgreSQL would mistake any process with that pid, even a zombie, for a running server and refuse to start.
  await rm(join(cluster.data, "postmaster.pid"), { force: true });
  return undefined;
}

/**
 * Stops the server that an earlier Headgate left running, and returns its pid; undefined if there was none. The caller
 * holds the lock of the data directory.
 */
export async function stopLeftover({ dataDir }: DataDirLock, log: Log): Promise<number | undefined> {
  const cluster = describeCluster(dataDir, findUnprivilegedUser());
  await endPostmasterWatcher(cluster);
  const left = await readPostmasterPid(cluster);
  const facts = left === undefined ? undefined : await findProcess(left.pid);
  await settleLeftover(cluster, undefined, log);
  return facts !== undefined && isPostmaster(cluster, facts) ? facts.pid : undefined;
}

const recoveryLimitMs = 300_000;
const silenceLimitMs = 5000;

async function runsAsExpected(cluster: Cluster, postmaster: Postmaster, expected: Expectation): Promise<boolean> {
  const begin = performance.now();
  while (!postmaster.ended) {
    const answer = await probe(expected.endpoint, expected.password);
    if (answer.kind === "ready") return answer.fingerprint === expected.fingerprint;
    if (answer.kind === "refused") return false;
    const status = (await readPostmasterPid(cluster))?.status;
    if (status === undefined || status === "stopping") return false;
    // A server that still recovers after a crash is waited for: after a stop it would have to start over.
    if (performance.now() - begin > (status === "starting" ? recoveryLimitMs : silenceLimitMs)) return false;
    await delay(50);
  }
  return false;
}

const orphanSteps: readonly { afterMs: number; signal: "SIGQUIT" | "SIGKILL" }[] = [
  { afterMs: 2000, signal: "SIGQUIT" },
  { afterMs: 4000, signal: "SIGKILL" },
];

/**
 * Children notice the postmaster's death within moments, unless they are busy computing. Ending them loses nothing:
 * without a postmaster the next start recovers anyway.
 */
export async function endOrphans(cluster: Cluster): Promise<void> {
  const begin = performance.now();
  const steps = [...orphanSteps];
  for (;;) {
    const orphans = (await listProcesses()).filter((facts) => isServerChild(cluster, facts));
    if (orphans.length === 0) return;
    const elapsedMs = performance.now() - begin;
    const step = steps[0];
    if (step !== undefined && elapsedMs > step.afterMs) {
      for (const { pid } of orphans) signalIfThere(pid, step.signal);
      steps.shift();
    }
    if (elapsedMs > 10_000) {
      const pids = orphans.map(({ pid }) => pid).join(", ");
      throw new Fault(
        "unavailable",
        `processes of an earlier PostgreSQL do not end (pid ${pids}): end them and start again`,
      );
    }
    await delay(50);
  }
}

function signalIfThere(pid: number, signal: "SIGQUIT" | "SIGKILL"): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ESRCH") return;
    throw error;
  }
}
