import type { ProcessHandle } from "../detached-process/process-handle.ts";

export const markName = "HEADGATE_RUNNER";

/** In the environment of all that a program starts, where no sandbox takes it away: finds what has run off. */
export function markOf({ pid, startTime }: ProcessHandle): string {
  return `${markName}=${pid}-${startTime}`;
}
