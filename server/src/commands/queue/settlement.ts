import type { ClaimedCommand } from "../store/claims.ts";
import type { Settlement } from "../store/queue.ts";
import type { RunOutcome, ResultTable } from "../execution/executor.ts";

/** §4.2: the timeout of a command that sets none. */
export const DEFAULT_TIMEOUT_SECONDS = 129_600;

/** An outcome with which a run is settled, not released. */
export type SettledOutcome = Exclude<RunOutcome, { state: "never-began" }>;

/** The node ends the run. `isFinal`: it is not tried again, and no other node begins it. */
export interface OrderedEnd {
  readonly cause: string;
  readonly isFinal: boolean;
}

const NOTHING_DONE = { exitCode: null, outputBytes: 0, logBytes: 0 };

/** The outcome of a run that the node may have ended. Undefined: it never began and may be claimed again. */
export function settledOutcome(
  outcome: RunOutcome,
  { cause, isFinal }: Partial<OrderedEnd> = {},
): SettledOutcome | undefined {
  if (outcome.state === "ended" && outcome.kind === "succeeded") return outcome;
  // It ended by itself before the node ended it.
  if (outcome.state === "ended" && outcome.kind !== "cancelled" && isFinal !== true) return outcome;
  if (cause !== undefined && isFinal === true) {
    const { exitCode, outputBytes, logBytes } = outcome.state === "ended" ? outcome : NOTHING_DONE;
    return { state: "ended", kind: "terminated", exitCode, cause, outputBytes, logBytes };
  }
  if (outcome.state === "never-began") return undefined;
  return cause === undefined ? outcome : { state: "lost", cause };
}

/**
 * Decides how the end of a run ends the command. `retry` runs a failed command again, even if the disk was full or the run
 * was lost: a lost run may have done its work, and with `retry` the user accepts that it is done twice. A command is not
 * tried again if it was cancelled, timed out or was refused, or if it was ended because its cluster was terminated or its
 * account is above the disk quota.
 */
export function settlementOf(command: RetryRule, outcome: SettledOutcome, secondsLeft: number): Settlement {
  const next = nextStep(command, outcome, secondsLeft);
  const cause = printable(outcome.cause);
  if (outcome.state === "lost") {
    return { next, exitCode: null, cause, outputBytes: null, logBytes: null, qlog: null };
  }
  const { exitCode, outputBytes, logBytes, resultTable } = outcome;
  const qlog = resultTable === undefined ? null : querySchema(resultTable);
  return { next, exitCode, cause, outputBytes, logBytes, qlog };
}

/** A cause may quote what a program or a query has written. PostgreSQL refuses texts with NUL. */
function printable(cause: string | null): string | null {
  return cause?.replaceAll(/[\p{Cc}--[\n\t]]+/gv, " ").toWellFormed() ?? null;
}

type RetryRule = Pick<ClaimedCommand, "attempt" | "retry" | "retryDelayMinutes">;

function nextStep(command: RetryRule, outcome: SettledOutcome, secondsLeft: number): Settlement["next"] {
  if (outcome.state === "ended" && outcome.kind === "succeeded") return { status: "done" };
  const isFailure = outcome.state === "lost" || outcome.kind === "failed" || outcome.kind === "disk-full";
  if (!isFailure || command.attempt > command.retry) return { status: "error" };
  // No later than the check at which it times out, because the next claim ends it then.
  return { status: "retry", delaySeconds: Math.max(0, Math.min(command.retryDelayMinutes * 60, secondsLeft)) };
}

/** In characters. Every row of the history has the schema, so its size is limited. */
const LONGEST_QUERY = 4096;
const LONGEST_SCHEMA = 64 * 1024;

/**
 * `qlog` of §2.2: the columns of the result, by query. A long query is cut. If not all columns fit, there is no `qlog`,
 * because readers would take a part for the whole.
 */
export function querySchema({ query, columns }: ResultTable): string | null {
  const key = query.length > LONGEST_QUERY ? `${query.slice(0, LONGEST_QUERY).toWellFormed()}…` : query;
  const fields = columns.map(({ name, type }) => ({ ColumnName: name, ColumnType: type }));
  const schema = JSON.stringify({ "SVC-QUERY-SCHEMA": { [key]: fields } });
  return schema.length > LONGEST_SCHEMA ? null : schema;
}
