import { HiveError } from "../../engines/hive-thrift/hive-error.ts";
import { Fault } from "../../lib/fault.ts";

const LONGEST_WORDS = 500;

/** What a metastore that an account has brought says, for who asked; what is no word of a metastore's passes as it is. */
export function metastoreFailure(error: unknown): unknown {
  if (!(error instanceof HiveError)) return error;
  const words = error.message.replaceAll(/\s+/g, " ").slice(0, LONGEST_WORDS);
  const isAboutTheCall = error.kind === "invalid-object" || error.kind === "invalid-operation";
  return new Fault(isAboutTheCall ? "invalid" : "unavailable", `the metastore refuses: ${words}`, { cause: error });
}
