import { Fault } from "../../lib/fault.ts";
import type { Binaries } from "./binaries.ts";
import type { Cluster } from "./cluster.ts";
import { findProcess, type ProcessFacts } from "../../lib/process-table.ts";
import { spawnProgram } from "./run-program.ts";

/** The server's first process: our own child, or one left by an earlier Headgate. */
export interface Postmaster {
  readonly pid: number;
  readonly ended: boolean;
  /** Resolves when the process has ended. Keeps Node alive only after a signal was sent. */
  readonly exited: Promise<void>;
  signal(name: "SIGINT" | "SIGQUIT" | "SIGKILL"): Promise<void>;
}

/** Runs in a session of its own: Ctrl-C on our terminal must not end it before Headgate has drained. */
export async function spawnPostmaster(
  cluster: Cluster,
  binaries: Binaries,
  fingerprint: string,
  logDescriptor: number,
): Promise<Postmaster> {
  const settings = { config_file: cluster.settingsFile, "headgate.fingerprint": fingerprint };
  const args = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const child = await spawnProgram(binaries.postgres, ["-D", cluster.data, ...args], {
    user: cluster.user,
    stdio: ["ignore", logDescriptor, logDescriptor],
    detached: true,
  });
  const exited = new Promise<void>((settle) => child.once("exit", () => settle()));
  const { pid } = child;
  if (pid === undefined) throw new Fault("internal", "PostgreSQL was started without a pid");
  child.unref();
  return {
    pid,
    exited,
    get ended() {
      return child.exitCode !== null || child.signalCode !== null;
    },
    signal: async (name) => {
      child.ref();
      child.kill(name);
    },
  };
}

const watchEveryMs = 1000;
const awaitEndEveryMs = 25;

/** The exit of a process that is not our child is not reported, so the process table is polled. */
export function watchPostmaster(facts: ProcessFacts): Postmaster {
  const { promise: exited, resolve: settle } = Promise.withResolvers<void>();
  let ended = false;
  const check = async (): Promise<boolean> => {
    if (!ended && (await findProcess(facts.pid))?.startTime !== facts.startTime) {
      ended = true;
      clearInterval(timer);
      settle();
    }
    return !ended;
  };
  let timer = setInterval(() => void check(), watchEveryMs).unref();
  return {
    pid: facts.pid,
    exited,
    get ended() {
      return ended;
    },
    signal: async (name) => {
      // Checked right before, so that a reused pid is not signalled.
      if (!(await check())) return;
      clearInterval(timer);
      timer = setInterval(() => void check(), awaitEndEveryMs);
      process.kill(facts.pid, name);
    },
  };
}

/**
 * Fast shutdown, which writes a checkpoint. The harder signals lose nothing either, but the next start has to recover.
 */
export async function shutDown(postmaster: Postmaster): Promise<void> {
  await postmaster.signal("SIGINT");
  if (await endsWithin(postmaster, 60_000)) return;
  await postmaster.signal("SIGQUIT");
  if (await endsWithin(postmaster, 10_000)) return;
  await postmaster.signal("SIGKILL");
  await postmaster.exited;
}

async function endsWithin(postmaster: Postmaster, limitMs: number): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), limitMs);
  const inTime = await Promise.race([postmaster.exited.then(() => true), late]);
  clearTimeout(timer);
  return inTime;
}
