import type { ResultRenderer } from "../../engines/arrow-result/result-renderer.ts";
import type { CommandJob } from "../results/job-source.ts";
import { tableResults } from "../results/result-source.ts";
import type { SqlService } from "../sql/sql-executor.ts";
import { readStatementJobs, type StatementJob } from "../sql/statement-jobs.ts";
import type { SubmittedCommand } from "../store/command-row.ts";
import { isNativeRefresh, isRefresh, planHive, planRefresh } from "../submission/hive.ts";
import { languageOf } from "../submission/language.ts";
import type { SubmissionPlan, SubmittingAccount, TypedSubmission } from "../submission/plan.ts";
import { isSparkSql, planSpark, checkSparkWords } from "../submission/spark.ts";
import { scopeKey } from "../execution/spark-scope.ts";
import type { CommandKind } from "./command-kinds.ts";

export interface SqlParts {
  readonly sql: Pick<SqlService, "servers" | "executor">;
  readonly renderer: ResultRenderer;
}

/** SQL scripts, and table refreshes by Spark's own statement: they run on the warm server of their scope. */
export function sqlKind({ sql: { servers, executor }, renderer }: SqlParts): CommandKind {
  return {
    name: "sql",
    plan: planSql,
    matches: isSql,
    checkWords({ commandType, command }, values, text) {
      if (commandType === "SparkCommand") checkSparkWords(command, values, text);
    },
    runsUsersCode: true,
    needsCluster: true,
    runsOnConnect: true,
    memory: {
      reservedMiB: (command) => servers.costMiB(command, command.configuredHeap ?? null),
      sharedBy: (command) => scopeKey(command),
    },
    executor,
    results: tableResults(renderer),
    jobs: async ({ folder }) => (await readStatementJobs(folder)).map(jobOfStatement),
  };
}

async function planSql(body: TypedSubmission, account: SubmittingAccount): Promise<SubmissionPlan | undefined> {
  switch (body.command_type) {
    case "SparkCommand":
      return isSparkSql(body) ? planSpark(body) : undefined;
    case "HiveCommand":
      if (!isRefresh(body)) return planHive(body);
      return (await account.refreshEngine()) === "spark" ? planRefresh(body, "spark") : undefined;
    case "HadoopCommand":
      return undefined;
  }
}

function isSql(command: SubmittedCommand): boolean {
  if (command.commandType === "SparkCommand") return languageOf(command.command) === "sql";
  return command.commandType === "HiveCommand" && !isNativeRefresh(command);
}

function jobOfStatement({ statement, status, work, startedAt, endedAt }: StatementJob): CommandJob {
  const { tasks, stages } = work;
  // Spark reports every two seconds, so the last report may come before the last tasks are done.
  const done = status === "succeeded" ? { completedTasks: tasks, completedStages: stages } : {};
  return { jobId: statement, status, ...work, ...done, failedTasks: null, submittedAt: startedAt, endedAt };
}
