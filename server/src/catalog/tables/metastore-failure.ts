import { HiveError } from "../../engines/hive-thrift/hive-error.ts";
import { Fault } from "../../lib/fault.ts";

const LONGEST_MESSAGE = 500;

/** Turns an error that an external metastore reports into a message for the user; returns any other error unchanged. */
export function metastoreFailure(error: unknown): unknown {
  if (!(error instanceof HiveError)) return error;
  const message = error.message.replaceAll(/\s+/g, " ").slice(0, LONGEST_MESSAGE);
  const isInvalid = error.kind === "invalid-object" || error.kind === "invalid-operation";
  return new Fault(isInvalid ? "invalid" : "unavailable", `The metastore reports an error: ${message}`, {
    cause: error,
  });
}
