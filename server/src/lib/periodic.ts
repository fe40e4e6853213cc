import type { Log } from "./log.ts";

/** Periodic tasks have no input and are idempotent: they may run late, twice, or on several nodes at once. */
export interface PeriodicTask {
  name: string;
  everySeconds: number;
  /** Tasks of many steps should return between two steps when `stopped` is aborted. */
  run: (stopped: AbortSignal) => Promise<unknown>;
}

export interface RunningTasks {
  /** Starts no new run; resolves when the current ones have ended. */
  stop(): Promise<void>;
}

const MINUTE = 60;

/**
 * Tasks with a period of up to a minute run now; the others first run within a minute, when startup is over. Each runs
 * again `everySeconds` after its last run. Failures are logged and do not change the schedule. The runs are spread over time, so that tasks with the same period
 * do not all need a connection at once.
 */
export function runPeriodically(tasks: readonly PeriodicTask[], log: Log): RunningTasks {
  const stopped = new AbortController();
  const loops = tasks.map(async (task, index) => {
    const part = (index + 1) / tasks.length;
    if (task.everySeconds > MINUTE) await pause(part * MINUTE * 1000, stopped.signal);
    await loop(task, part, log, stopped.signal);
  });
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
      log.error({ err: error, task: name }, "periodic task failed; it will run again");
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
