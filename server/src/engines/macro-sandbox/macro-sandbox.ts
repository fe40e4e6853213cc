/**
 * Evaluates untrusted JavaScript expressions in QuickJS, in processes that are killed if they take too long. A process is
 * started on demand and kept for a while, because starting one takes fifty times as long as an evaluation; every
 * evaluation has an interpreter of its own.
 */
import { FairQueue } from "../../lib/fair-queue.ts";
import type { Limits, Macro, Outcome } from "./protocol.ts";
import { SandboxProcess } from "./sandbox-process.ts";

export interface MacroSandbox {
  /** `key` identifies the requester. Returns undefined if the key has too many waiting jobs. */
  evaluate(macros: readonly Macro[], key: string): Promise<Outcome> | undefined;
  stop(): void;
}

export interface MacroSandboxOptions {
  limits?: Partial<Limits>;
  processes?: number;
  waitingByKey?: number;
  idleMs?: number;
}

export const defaultLimits: Limits = { cpuMs: 1_000, memoryBytes: 64 * 1024 * 1024, textLength: 65_536 };
/** Processes are replaced after this many jobs, in case evaluations leak memory. */
const MAX_JOBS_PER_PROCESS = 500;

export function macroSandbox({
  limits: given = {},
  processes = 2,
  waitingByKey = 16,
  idleMs = 60_000,
}: MacroSandboxOptions = {}): MacroSandbox {
  const limits = { ...defaultLimits, ...given };
  // A key never occupies the last process.
  const limitsByKey = { waiting: waitingByKey, taken: () => Math.max(1, processes - 1) };
  const queue = new FairQueue<(worker: SandboxProcess) => Promise<boolean>>(limitsByKey);
  const idle: SandboxProcess[] = [];
  const all = new Set<SandboxProcess>();
  let isStopped = false;
  let idleTimer: NodeJS.Timeout | undefined;

  function discard(worker: SandboxProcess): void {
    worker.stop();
    all.delete(worker);
  }

  function free(): SandboxProcess | undefined {
    const worker = idle.pop();
    if (worker === undefined) {
      if (all.size >= processes) return undefined;
      const started = new SandboxProcess();
      all.add(started);
      return started;
    }
    if (worker.isAlive) return worker;
    discard(worker);
    return free();
  }

  function assign(): void {
    const worker = isStopped ? undefined : free();
    if (worker === undefined) return;
    const next = queue.take();
    if (next === undefined) {
      idle.push(worker);
      return;
    }
    void next.item(worker).then((isReusable) => {
      next.release();
      if (isReusable && worker.isAlive && worker.jobs < MAX_JOBS_PER_PROCESS && !isStopped) idle.push(worker);
      else discard(worker);
      assign();
    });
  }

  function stopIdleLater(): void {
    clearTimeout(idleTimer);
    idleTimer = setTimeout(() => idle.splice(0).forEach(discard), idleMs);
    idleTimer.unref();
  }

  return {
    evaluate(macros, key) {
      const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
      // Returns whether the process can be reused: after a failure it could be about to end.
      const work = async (worker: SandboxProcess): Promise<boolean> => {
        stopIdleLater();
        try {
          const outcome = (await worker.run({ macros, limits })) ?? tookTooLong(macros);
          resolve(outcome);
          return outcome.kind === "values";
        } catch (error) {
          reject(error);
          return false;
        }
      };
      if (!queue.add(key, work)) return undefined;
      assign();
      return promise;
    },
    stop() {
      isStopped = true;
      clearTimeout(idleTimer);
      all.forEach(discard);
    },
  };
}

/** Names the first macro, because it is unknown which one was running. */
function tookTooLong(macros: readonly Macro[]): Outcome {
  return { kind: "failed", name: macros[0]?.name ?? "", reason: "it took too long or too much memory" };
}
