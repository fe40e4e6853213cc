import type { RunOutcome } from "./executor.ts";

export type Ended = Extract<RunOutcome, { state: "ended" }>;

/** How what runs in this process may end, as it is told to people. */
export const SUCCEEDED: Ended = {
  state: "ended",
  kind: "succeeded",
  exitCode: 0,
  cause: null,
  outputBytes: 0,
  logBytes: 0,
};

export function ended(kind: Ended["kind"], cause: string): Ended {
  return { state: "ended", kind, exitCode: null, cause, outputBytes: 0, logBytes: 0 };
}

export const CANCELLED = ended("cancelled", "cancelled");

export function timedOut(timeoutSeconds: number): Ended {
  return ended("timed-out", `timed out: the timeout is ${timeoutSeconds} s, counted from the first attempt`);
}

export function failed(cause: string): Ended {
  return { ...ended("failed", cause), exitCode: 1 };
}

/**
 * Seconds from the first start to the check that ends the command: check k falls at k × `checkSeconds`, and the first
 * one at or after the timeout counts (§4.2: 80 s are over at 120 s).
 */
export function timeoutCheckAt(timeoutSeconds: number, checkSeconds: number): number {
  return Math.ceil(timeoutSeconds / checkSeconds) * checkSeconds;
}
