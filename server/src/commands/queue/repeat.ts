import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../../lib/log.ts";

export interface Repetition {
  /** Runs the work again at once, or right after the current run. */
  poke(): void;
  readonly ended: Promise<void>;
}

/** Each submission pokes. A run for each of them would cost as much as the submissions themselves. */
const RESPITE_MS = 20;

/** The result of a run: `idle` if it found nothing to do, as another run right after it would. */
export type Worked = "busy" | "idle";

/**
 * Runs `work` now, and again `everyMs` after each end, never two at the same time. After an idle run, a poke has to wait a
 * moment. A failure is logged, and the next run follows.
 */
export function repeat(work: () => Promise<Worked>, everyMs: number, stopping: AbortSignal, log: Log): Repetition {
  let wake = Promise.withResolvers<void>();
  const run = async (): Promise<void> => {
    while (!stopping.aborted) {
      wake = Promise.withResolvers<void>();
      const respite = delay(RESPITE_MS);
      let worked: Worked = "idle";
      try {
        worked = await work();
      } catch (error) {
        if (!stopping.aborted) log.warn({ err: error }, "the queue cannot be read; trying again");
      }
      const timer = setTimeout(wake.resolve, everyMs);
      await (stopping.aborted ? undefined : wake.promise);
      clearTimeout(timer);
      if (worked === "idle") await respite;
    }
  };
  stopping.addEventListener("abort", () => wake.resolve());
  return { poke: () => wake.resolve(), ended: run() };
}
