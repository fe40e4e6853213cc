import type { ConnectError } from "../../engines/spark-connect/connect-error.ts";
import type { RunOutcome } from "../execution/executor.ts";
import { CANCELLED, ended, failed, timedOut, type Ended } from "../execution/run-end.ts";
import type { ResultLoss } from "./run-statement.ts";
import { summarised } from "./sql-messages.ts";

/** How a script may end, as it is told to people. */
export const DIED = "the Spark server that ran it has died";
export const MACHINE_RESTARTED = "the machine was started again, and nothing tells how far it came";

const SERVER_STOPPED = "its Spark server was stopped";
const LEASE_OVER = "the node has lost touch with the others and ended it";

/** Why we end it. */
export type CallOff = "cancelled" | "timed-out" | "server stopped" | "lease over";

export function calledOff(why: CallOff, timeoutSeconds: number): RunOutcome {
  switch (why) {
    case "cancelled":
      return CANCELLED;
    case "timed-out":
      return timedOut(timeoutSeconds);
    case "server stopped":
      return failed(SERVER_STOPPED);
    case "lease over":
      return { state: "lost", cause: LEASE_OVER };
  }
}

export function lostResult({ message, isDiskFull }: ResultLoss): Ended {
  return isDiskFull ? ended("disk-full", `the disk is full: ${message}`) : failed(message);
}

/** Whether it is the statement's own fault: then the log says more. */
export function isOfStatement({ kind }: ConnectError): boolean {
  return kind === "failed" || kind === "cancelled";
}

export function failedBy(error: ConnectError): Ended {
  switch (error.kind) {
    case "failed":
    case "cancelled":
      return failed(summarised(error));
    case "unavailable":
    case "refused":
      return failed(DIED);
    case "session gone":
    case "operation gone":
    case "taken over":
      return failed("the Spark server has lost its session");
  }
}
