import type { ConnectError } from "../../engines/spark-connect/connect-error.ts";
import { withFormatHint } from "../../engines/table-formats/missing-format.ts";
import { type RunOutcome, ended, failed, type EndedOutcome } from "../execution/executor.ts";
import type { ResultLoss } from "./run-statement.ts";

export const DIED = "the Spark server that ran it has died";
export const MACHINE_RESTARTED = "the machine was restarted, and it is unknown how far the script got";

export const SERVER_STOPPED: RunOutcome = failed("its Spark server was stopped");
export const LEASE_OVER: RunOutcome = { state: "lost", cause: "the node has lost touch with the others and ended it" };

export function lostResult({ message, isDiskFull }: ResultLoss): EndedOutcome {
  return isDiskFull ? ended("disk-full", `the disk is full: ${message}`) : failed(message);
}

/** Whether the statement itself has failed, rather than the connection or the server. */
export function isStatementError({ kind }: ConnectError): boolean {
  return kind === "failed" || kind === "cancelled";
}

/** `position` is the text in front of the error of a statement. */
export function failedBy(error: ConnectError, position: string, isRemote: boolean): EndedOutcome {
  switch (error.kind) {
    case "failed":
    case "cancelled":
      // A remote server has its own formats, which no setting of ours changes.
      return failed(`${position}${isRemote ? summarised(error) : withFormatHint(summarised(error))}`);
    case "unavailable":
    case "refused":
      return failed(DIED);
    case "session gone":
    case "operation gone":
    case "taken over":
      return failed("the Spark server has lost its session");
  }
}

const LONGEST_CAUSE = 500;

/** One line, for the row: the log has all of it. Spark may name the position after further lines. */
function summarised(error: ConnectError): string {
  const text = described(error);
  const [first = ""] = text.split("\n", 1);
  const [, line, column] = /\bline (\d+),? pos (\d+)/.exec(text) ?? [];
  const cause = withState(first.slice(0, LONGEST_CAUSE), error);
  return column === undefined || cause.includes(` pos ${column}`) ? cause : `${cause} (line ${line}, pos ${column})`;
}

/** Adds to a cause on a remote server that it lacks the name of the account's storage, as clusters elsewhere do. */
export function explainStorageName(cause: string): string {
  if (!/\bNo FileSystem for scheme "?storage\b/.test(cause)) return cause;
  return `${cause}; a cluster of the type connect does not know storage:/: name the file by the long address that its server can read`;
}

/** For the log. Spark's message contains the class and the state already, most of the time. */
export function described(error: ConnectError): string {
  const { message, errorClass } = error;
  const isNamed = errorClass === undefined || message.includes(`[${errorClass}]`);
  return withState(isNamed ? message : `[${errorClass}] ${message}`, error);
}

function withState(text: string, { sqlState }: ConnectError): string {
  return sqlState === undefined || text.includes(sqlState) ? text : `${text} SQLSTATE: ${sqlState}`;
}
