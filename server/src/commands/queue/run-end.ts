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
