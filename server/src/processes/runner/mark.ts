import type { ProcessHandle } from "../detached-process/detached-process.ts";

export const markName = "HEADGATE_RUNNER";

/**
 * Set in the environment of all processes of a program, to find those that left its session. A sandbox removes it, but
 * no process can leave a sandbox.
 */
export function markOf({ pid, startTime }: ProcessHandle): string {
  return `${markName}=${pid}-${startTime}`;
}
