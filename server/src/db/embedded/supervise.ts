import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../../lib/log.ts";
import { settleLeftover } from "./leftover.ts";
import { shutDown, type Postmaster } from "./postmaster.ts";
import { rotateServerLog, startPostmaster, type StartPlan } from "./start-postmaster.ts";

export interface Supervision {
  readonly healthy: boolean;
  stop(): Promise<void>;
  /** Stops supervising and leaves the server running. */
  leave(): void;
}

const firstWaitMs = 100;
const longestWaitMs = 30_000;
/** A server that has run this long did not die of the previous cause, so the waits are short again. */
const stableAfterMs = 60_000;
const rotateLogEveryMs = 600_000;

/** Restarts the server until it is stopped. The endpoint never changes, because other processes are connected to it. */
export function supervise(plan: StartPlan, first: Postmaster, log: Log): Supervision {
  const stopping = new AbortController();
  let current: Postmaster | undefined = first;
  let waitMs = firstWaitMs;
  const logTimer = setInterval(
    () => void rotateServerLog(plan.cluster.logFile).catch(() => undefined),
    rotateLogEveryMs,
  );
  logTimer.unref();

  const watch = async (): Promise<void> => {
    while (current !== undefined) {
      const begin = performance.now();
      await current.exited;
      if (stopping.signal.aborted) return;
      log.error({ pid: current.pid, logFile: plan.cluster.logFile }, "PostgreSQL ended unexpectedly; restarting it");
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
          log.info({ pid: outcome.postmaster.pid }, "PostgreSQL restarted");
          return outcome.postmaster;
        }
        if (outcome.kind === "port-taken") log.error({ port: plan.endpoint.port }, "PostgreSQL's port is taken");
      } catch (error) {
        log.error({ err: error }, "PostgreSQL could not be restarted");
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
