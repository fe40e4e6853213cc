import { invalid } from "../../lib/fault.ts";
import { COMMAND_TYPES } from "../store/command-row.ts";
import type { SubmissionInput } from "./body.ts";
import { planHadoop } from "./hadoop.ts";
import { planHive, planRefresh, REFRESH_TEMPLATE } from "./hive.ts";
import type { SubmissionPlan } from "./plan.ts";
import { planSpark } from "./spark.ts";

/** Which kind of command a body is, and what it comes to. */
export function planSubmission(body: SubmissionInput): SubmissionPlan {
  const isRefresh = body.template === REFRESH_TEMPLATE;
  switch (body.command_type ?? (isRefresh ? "HiveCommand" : "")) {
    case "SparkCommand":
      if (isRefresh) throw invalid("command_type", `must be HiveCommand with the template ${REFRESH_TEMPLATE}`);
      return planSpark(body);
    case "HadoopCommand":
      if (isRefresh) throw invalid("command_type", `must be HiveCommand with the template ${REFRESH_TEMPLATE}`);
      return planHadoop(body);
    case "HiveCommand":
      return isRefresh ? planRefresh(body) : planHive(body);
    default:
      throw invalid("command_type", `must be one of ${COMMAND_TYPES.join(", ")}`);
  }
}
