import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../../lib/log.ts";
import { settleLeftover } from "./leftover.ts";
import { shutDown, type Postmaster } from "./postmaster.ts";
import { boundServerLog } from "./server-log.ts";
import { startPostmaster, type StartPlan } from "./start-postmaster.ts";

export interface Supervision {
  readonly healthy: boolean;
  stop(): Promise<void>;
  /** The server runs on without us. */
  leave(): void;
}

const firstWaitMs = 100;
const longestWaitMs = 30_000;
/** A server that lived this long died of something new: the waits begin anew. */
const stableAfterMs = 60_000;
const boundLogEveryMs = 600_000;

/** Keeps the server running until it is told to stop. The endpoint never changes: others are connected by it. */
export function supervise(plan: StartPlan, first: Postmaster, log: Log): Supervision {
  const stopping = new AbortController();
  let current: Postmaster | undefined = first;
  let waitMs = firstWaitMs;
  const logTimer = setInterval(() => void boundServerLog(plan.cluster.logFile).catch(() => undefined), boundLogEveryMs);
  logTimer.unref();

  const watch = async (): Promise<void> => {
    while (current !== undefined) {
      const begin = performance.now();
      await current.exited;
      if (stopping.signal.aborted) return;
      log.error(
        { pid: current.pid, logFile: plan.cluster.logFile },
        "PostgreSQL ended unexpectedly, starting it again",
      );
      current = undefined;
      if (performance.now() - begin > stableAfterMs) waitMs = firstWaitMs;
      current = await restart();
    }
  };

  const restart = async (): Promise<Postmaster | undefined> => {
    while (!stopping.signal.aborted) {
      try {
        await settleLeftover(plan.cluster, undefined, log);
        const outcome = await startPostmaster(plan, stopping.signal);
        if (outcome.kind === "ready") {
          log.info({ pid: outcome.postmaster.pid }, "PostgreSQL runs again");
          return outcome.postmaster;
        }
        if (outcome.kind === "port-taken") log.error({ port: plan.endpoint.port }, "PostgreSQL's port is taken");
      } catch (error) {
        log.error({ err: error }, "PostgreSQL could not be started again");
      }
      await delay(waitMs, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);
      waitMs = Math.min(waitMs * 2, longestWaitMs);
    }
    return undefined;
  };

  const watching = watch();
  const leave = (): void => {
    stopping.abort();
    clearInterval(logTimer);
  };
  return {
    leave,
    get healthy() {
      return current !== undefined && !current.ended && !stopping.signal.aborted;
    },
    stop: async () => {
      leave();
      if (current !== undefined) await shutDown(current);
      await watching;
    },
  };
}
