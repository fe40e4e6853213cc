import { existsSync } from "node:fs";

/**
 * A monotonic clock for `silenceClock`. It stands still, so that no node becomes silent, until `passes` is set. Then
 * each check of the nodes counts as a fixed number of milliseconds of silence, whatever its duration.
 */
export interface SilenceClock {
  passes: boolean;
  readonly now: () => number;
}

/** Less than the longest gap between two checks that counts. */
const LOOK_MS = 14_000;

export function silenceClock(): SilenceClock {
  let milliseconds = 0;
  const clock = {
    passes: false,
    now: () => (milliseconds += clock.passes ? LOOK_MS : 0),
  };
  return clock;
}

/** The same for a node in a separate process: time passes while the file exists, at half the speed. */
export function silenceClockByFile(path: string): () => number {
  let milliseconds = 0;
  return () => (milliseconds += existsSync(path) ? LOOK_MS / 2 : 0);
}
