import type { Log } from "./log.ts";

/** Periodic work is input-free and idempotent: it may run late, twice, or on several nodes at once. */
export interface PeriodicTask {
  name: string;
  everySeconds: number;
  run: () => Promise<unknown>;
}

export interface RunningTasks {
  /** No new run starts; settles when the running ones have ended. */
  stop(): Promise<void>;
}

/** Runs each task now and then again so long after its end; a failure is logged and the next run comes as planned. */
export function runPeriodically(tasks: readonly PeriodicTask[], log: Log): RunningTasks {
  const stopped = new AbortController();
  const loops = tasks.map((task) => loop(task, log, stopped.signal));
  return {
    async stop() {
      stopped.abort();
      await Promise.all(loops);
    },
  };
}

async function loop({ name, everySeconds, run }: PeriodicTask, log: Log, stopped: AbortSignal): Promise<void> {
  while (!stopped.aborted) {
    try {
      await run();
    } catch (error) {
      log.error({ err: error, task: name }, "a periodic task failed; it will run again");
    }
    await pause(everySeconds * 1000, stopped);
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
