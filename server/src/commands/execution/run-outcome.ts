import { isDiskFullError } from "../../engines/runner/disk-full.ts";
import { Fault } from "../../lib/fault.ts";
import type { RunOutcome } from "./executor.ts";

export type EndedOutcome = Extract<RunOutcome, { state: "ended" }>;

export const SUCCEEDED: EndedOutcome = {
  state: "ended",
  kind: "succeeded",
  exitCode: 0,
  cause: null,
  outputBytes: 0,
  logBytes: 0,
};

export function ended(kind: EndedOutcome["kind"], cause: string): EndedOutcome {
  return { state: "ended", kind, exitCode: null, cause, outputBytes: 0, logBytes: 0 };
}

export const CANCELLED = ended("cancelled", "cancelled");

export function timedOut(timeoutSeconds: number): EndedOutcome {
  return ended("timed-out", `timed out: the timeout is ${timeoutSeconds} s, counted from the first attempt`);
}

export function failed(cause: string): EndedOutcome {
  return { ...ended("failed", cause), exitCode: 1 };
}

/**
 * Seconds from the first start to the check that ends the command: check k falls at k × `checkSeconds`, and the first
 * one at or after the timeout counts (§4.2: 80 s are over at 120 s).
 */
export function timeoutCheckAt(timeoutSeconds: number, checkSeconds: number): number {
  return Math.ceil(timeoutSeconds / checkSeconds) * checkSeconds;
}

/** The outcome of a run that could not start, with a cause for the user who submitted it. */
export function explainFailure(error: unknown): RunOutcome {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const kind = error instanceof Fault && error.code === "invalid" ? "refused" : "failed";
  const cause = CAUSES[code] ?? (error instanceof Fault ? error.publicMessage : "it could not be started");
  return isDiskFullError(error) ? notStartedForDisk : { ...notStarted, kind, cause };
}

const notStarted = { state: "ended", exitCode: null, outputBytes: 0, logBytes: 0 } as const;

export const notStartedForDisk: RunOutcome = {
  ...notStarted,
  kind: "disk-full",
  cause: "the disk is full: it could not be started",
};

const CAUSES: Readonly<Record<string, string | undefined>> = {
  ENOMEM: "the machine is out of memory",
  EAGAIN: "the machine has no room for another process",
};
