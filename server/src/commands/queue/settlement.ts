import { querySchema } from "../execution/query-schema.ts";
import type { ClaimedCommand } from "../store/claims.ts";
import type { Settlement } from "../store/queue.ts";
import type { RunOutcome } from "../execution/executor.ts";

/** §4.2: what a command without a timeout gets. */
export const DEFAULT_TIMEOUT_SECONDS = 129_600;

/** The outcome of a run that may have begun. */
export type BegunOutcome = Exclude<RunOutcome, { state: "never-began" }>;

/**
 * How a run's end becomes the command's. `retry` runs a failed command again, also one that a full disk has failed, and a
 * lost one: it may have done its work, and whoever asks for a retry has said that it may be done twice. Not a cancelled,
 * timed-out or refused one, nor one that was ended with its cluster.
 */
export function settlementOf(command: RetryRule, outcome: BegunOutcome, secondsLeft: number): Settlement {
  const next = nextStep(command, outcome, secondsLeft);
  if (outcome.state === "lost") {
    return { next, exitCode: null, cause: outcome.cause, outputBytes: null, logBytes: null, qlog: null };
  }
  const { exitCode, cause, outputBytes, logBytes, resultTable } = outcome;
  const qlog = resultTable === undefined ? null : querySchema(resultTable);
  return { next, exitCode, cause, outputBytes, logBytes, qlog };
}

type RetryRule = Pick<ClaimedCommand, "attempt" | "retry" | "retryDelayMinutes">;

function nextStep(command: RetryRule, outcome: BegunOutcome, secondsLeft: number): Settlement["next"] {
  if (outcome.state === "ended" && outcome.kind === "succeeded") return { status: "done" };
  const isFailure = outcome.state === "lost" || outcome.kind === "failed" || outcome.kind === "disk-full";
  if (!isFailure || command.attempt > command.retry) return { status: "error" };
  // No later than the check at which it times out: that is when it is claimed again to end.
  return { status: "retry", delaySeconds: Math.max(0, Math.min(command.retryDelayMinutes * 60, secondsLeft)) };
}
