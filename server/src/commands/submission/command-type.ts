import { invalid } from "../../lib/fault.ts";
import { COMMAND_TYPES, type CommandType } from "../store/command-row.ts";
import type { SubmissionInput } from "./body.ts";
import { isRefresh, REFRESH_TEMPLATE } from "./hive.ts";

/** §4.5: the template of a table refresh says its type, too. */
export function commandTypeOf(body: SubmissionInput): CommandType {
  const given = body.command_type ?? (isRefresh(body) ? "HiveCommand" : undefined);
  const type = COMMAND_TYPES.find((each) => each === given);
  if (type === undefined) throw invalid("command_type", `must be one of ${COMMAND_TYPES.join(", ")}`);
  if (isRefresh(body) && type !== "HiveCommand") {
    throw invalid("command_type", `must be HiveCommand with the template ${REFRESH_TEMPLATE}`);
  }
  return type;
}
