import { chmod, rename, rm, writeFile, copyFile, open, stat, truncate, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Fault } from "../../lib/fault.ts";
import type { Secret } from "../../lib/secret.ts";
import type { Binaries } from "./binaries.ts";
import type { Cluster } from "./cluster.ts";
import { endOrphans } from "./leftover.ts";
import { fingerprint, hostAccess, renderSettings, type Endpoint } from "./postgres-settings.ts";
import { shutDown, spawnPostmaster, type Postmaster } from "./postmaster.ts";
import type { PostmasterWatcher } from "./postmaster-watcher.ts";
import { probe } from "./superuser.ts";
import { lastLines } from "./run-program.ts";

export interface StartPlan {
  readonly cluster: Cluster;
  readonly binaries: Binaries;
  readonly endpoint: Endpoint;
  readonly settings: Readonly<Record<string, string>>;
  readonly superuserPassword: Secret;
  readonly watcher: PostmasterWatcher;
}

export type StartOutcome =
  | { readonly kind: "ready"; readonly postmaster: Postmaster }
  | { readonly kind: "port-taken" }
  | { readonly kind: "aborted" };

const previousServerAlive = /pre-existing shared memory block|lock file "postmaster\.pid" already exists/;
const portTaken = /could not bind IPv4 address/;
const patienceMs = 30_000;

/** Starts the server and waits until it accepts connections. No other may be running: see `settleLeftover`. */
export async function startPostmaster(plan: StartPlan, signal?: AbortSignal): Promise<StartOutcome> {
  await writeSettings(plan);
  await clearSocket(plan.endpoint);
  const begin = performance.now();
  for (;;) {
    if (signal?.aborted === true) return { kind: "aborted" };
    const log = await openServerLog(plan.cluster.logFile);
    const postmaster = await spawnInto(plan, log.file);
    plan.watcher.follow(postmaster);
    const outcome = await waitUntilReady(plan, postmaster, signal);
    if (outcome !== "ended") return outcome;
    const output = await readLogFrom(plan.cluster.logFile, log.sizeBytes);
    if (portTaken.test(output)) return { kind: "port-taken" };
    if (!previousServerAlive.test(output) || performance.now() - begin > patienceMs) {
      const message = `PostgreSQL does not start (see ${plan.cluster.logFile}): ${lastLines(output)}`;
      throw new Fault("unavailable", message);
    }
    await endOrphans(plan.cluster);
    await delay(100);
  }
}

async function spawnInto({ cluster, binaries, settings }: StartPlan, log: FileHandle): Promise<Postmaster> {
  try {
    return await spawnPostmaster(cluster, binaries, fingerprint(binaries.version, settings), log.fd);
  } finally {
    await log.close();
  }
}

/** No time limit: a server that runs but is not ready is recovering, which takes longer the more WAL was written. */
async function waitUntilReady(
  plan: StartPlan,
  postmaster: Postmaster,
  signal: AbortSignal | undefined,
): Promise<StartOutcome | "ended"> {
  while (!postmaster.ended) {
    const answer = await probe(plan.endpoint, plan.superuserPassword);
    // Checked after the probe: a server that became ready after an abort would never be shut down.
    if (signal?.aborted === true) {
      await shutDown(postmaster);
      return { kind: "aborted" };
    }
    if (answer.kind === "ready") return { kind: "ready", postmaster };
    if (answer.kind === "refused") {
      await shutDown(postmaster);
      const message =
        `PostgreSQL refuses the password in ${plan.cluster.secrets}: ` +
        "move that folder away, and the next start sets new ones";
      throw new Fault("unavailable", message, { cause: answer.cause });
    }
    await delay(20);
  }
  return "ended";
}

/**
 * As with `postmaster.pid`, PostgreSQL respects the socket's lock file of a killed server while any process has its
 * pid.
 */
async function clearSocket({ socketDir, port }: Endpoint): Promise<void> {
  const socket = join(socketDir, `.s.PGSQL.${port}`);
  for (const path of [socket, `${socket}.lock`]) await rm(path, { force: true });
}

/** Outside the server's own folder: root must not write where the server's user could have put a link. */
async function writeSettings({ cluster, settings }: StartPlan): Promise<void> {
  const files = [
    { path: cluster.settingsFile, text: renderSettings(settings) },
    { path: cluster.hostAccessFile, text: hostAccess },
  ];
  for (const { path, text } of files) {
    await writeFile(`${path}.new`, text);
    await chmod(`${path}.new`, 0o644);
    await rename(`${path}.new`, path);
  }
}

const maxLogBytes = 8 * 1024 * 1024;

/** Passed to the server as an open descriptor, so that its user needs no permission on the file. */
async function openServerLog(path: string): Promise<{ file: FileHandle; sizeBytes: number }> {
  await rotateServerLog(path);
  const file = await open(path, "a", 0o600);
  return { file, sizeBytes: (await file.stat()).size };
}

/** A running server keeps appending to its descriptor, so the content is copied and the file truncated. */
export async function rotateServerLog(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined || found.size <= maxLogBytes) return;
  await copyFile(path, `${path}.1`);
  await truncate(path);
}

async function readLogFrom(path: string, offset: number): Promise<string> {
  const file = await open(path, "r");
  try {
    const buffer = Buffer.alloc(16 * 1024);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, offset);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}
