import type { EventLogs } from "../engines/spark-submit/event-log/event-logs.ts";
import type { SparkJob } from "../engines/spark-submit/event-log/job-counts.ts";
import type { CommandFilesOf } from "./command-text.ts";
import { executorKind } from "./queue/choose-executor.ts";
import { readStatementJobs, type StatementJob } from "./sql/statement-jobs.ts";
import type { ResultOwner } from "./store/outcome.ts";

/** Of a query it is a statement, of whose failed tasks nothing is told. */
export type CommandJob = Omit<SparkJob, "failedTasks"> & { readonly failedTasks: number | null };

/** The Spark jobs of programs, read from their event logs, and the statements of queries. */
export interface CommandJobs {
  of(command: ResultOwner): Promise<readonly CommandJob[]>;
}

export function commandJobs(commandFilesOf: CommandFilesOf, eventLogs: EventLogs): CommandJobs {
  return {
    async of(command) {
      const { id, accountId, attempt } = command;
      if (attempt === 0) return [];
      const files = commandFilesOf(accountId, id).attempt(attempt);
      const kind = executorKind(command);
      if (kind === "refresh") return [];
      if (kind === "sql") return (await readStatementJobs(files.folder)).map(jobOfStatement);
      return eventLogs.jobs({ path: files.eventLog, owner: String(accountId) });
    },
  };
}

function jobOfStatement({ statement, status, work, startedAt, endedAt }: StatementJob): CommandJob {
  const { tasks, stages } = work;
  // Spark tells every two seconds, and nothing more once the last rows are there.
  const done = status === "succeeded" ? { completedTasks: tasks, completedStages: stages } : {};
  return { jobId: statement, status, ...work, ...done, failedTasks: null, submittedAt: startedAt, endedAt };
}
