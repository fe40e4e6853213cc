import type { Log } from "../../lib/log.ts";

export interface Repetition {
  /** Again at once; during a run of it, right behind that. */
  poke(): void;
  readonly ended: Promise<void>;
}

/** Runs `work` now and then again so long after its end, never two at once. A failure is logged and the next run comes. */
export function repeat(work: () => Promise<void>, everyMs: number, stopping: AbortSignal, log: Log): Repetition {
  let wake = Promise.withResolvers<void>();
  const run = async (): Promise<void> => {
    while (!stopping.aborted) {
      wake = Promise.withResolvers<void>();
      try {
        await work();
      } catch (error) {
        if (!stopping.aborted) log.warn({ err: error }, "the queue cannot be looked at; trying again");
      }
      const timer = setTimeout(wake.resolve, everyMs);
      await (stopping.aborted ? undefined : wake.promise);
      clearTimeout(timer);
    }
  };
  stopping.addEventListener("abort", () => wake.resolve());
  return { poke: () => wake.resolve(), ended: run() };
}
