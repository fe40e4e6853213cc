import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../../lib/log.ts";

export interface Repetition {
  /** Again at once, or when the last one is a moment ago; during a run of it, right behind that. */
  poke(): void;
  readonly ended: Promise<void>;
}

/** Pokes come in crowds, one a submission: to look at each of them would cost as much as the submissions. */
const RESPITE_MS = 20;

/** What comes of one run: `idle` when it was for nothing, as the next one would be a moment later. */
export type Worked = "busy" | "idle";

/**
 * Runs `work` now and then again so long after its end, never two at once; behind an idle run a poke has to wait a
 * moment. A failure is logged and the next run comes.
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
        if (!stopping.aborted) log.warn({ err: error }, "the queue cannot be looked at; trying again");
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
