import type { Log } from "./log.ts";

/** Periodic work is input-free and idempotent: it may run late, twice, or on several nodes at once. */
export interface PeriodicTask {
  name: string;
  everySeconds: number;
  /** Work of many steps should end between two of them when `stopped` is aborted. */
  run: (stopped: AbortSignal) => Promise<unknown>;
}

export interface RunningTasks {
  /** No new run starts; settles when the running ones have ended. */
  stop(): Promise<void>;
}

/**
 * Runs each task now and then again so long after its end; a failure is logged and the next run comes as planned. The
 * second runs are spread, so that tasks of the same period never ask for a connection of their own each.
 */
export function runPeriodically(tasks: readonly PeriodicTask[], log: Log): RunningTasks {
  const stopped = new AbortController();
  const loops = tasks.map((task, place) => loop(task, (place + 1) / tasks.length, log, stopped.signal));
  return {
    async stop() {
      stopped.abort();
      await Promise.all(loops);
    },
  };
}

async function loop(
  { name, everySeconds, run }: PeriodicTask,
  firstPause: number,
  log: Log,
  stopped: AbortSignal,
): Promise<void> {
  for (let part = firstPause; !stopped.aborted; part = 1) {
    try {
      await run(stopped);
    } catch (error) {
      log.error({ err: error, task: name }, "a periodic task failed; it will run again");
    }
    await pause(part * everySeconds * 1000, stopped);
  }
}

function pause(milliseconds: number, stopped: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (stopped.aborted) {
      resolve();
      return;
    }
    const timer = setTimeout(done, milliseconds).unref();
    function done(): void {
      clearTimeout(timer);
      stopped.removeEventListener("abort", done);
      resolve();
    }
    stopped.addEventListener("abort", done);
  });
}
