import type { SparkJob } from "../engines/spark-submit/event-log-progress.ts";
import { EventLogReader, type EventLogState } from "../engines/spark-submit/event-log.ts";
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

interface Followed {
  readonly reader: EventLogReader;
  underWay: Promise<EventLogState> | undefined;
}

/** So many logs are followed from where they were left; another is read anew. */
const FOLLOWED_AT_MOST = 20;

/** Event logs can be large and are asked for again and again: each is read once, by one reader for all who ask. */
export function commandJobs(commandFilesOf: CommandFilesOf): CommandJobs {
  const followed = new Map<string, Followed>();
  return {
    async of(command) {
      const { id, accountId, attempt } = command;
      if (attempt === 0) return [];
      const files = commandFilesOf(accountId, id).attempt(attempt);
      const kind = executorKind(command);
      if (kind === "refresh") return [];
      if (kind === "sql") return (await readStatementJobs(files.folder)).map(jobOfStatement);
      const path = files.eventLog;
      const log = followed.get(path) ?? { reader: new EventLogReader(path), underWay: undefined };
      // Anew, so that it is the last to be forgotten.
      followed.delete(path);
      followed.set(path, log);
      for (const oldest of followed.keys()) if (followed.size > FOLLOWED_AT_MOST) followed.delete(oldest);
      log.underWay ??= log.reader.read().finally(() => {
        log.underWay = undefined;
      });
      return (await log.underWay).jobs;
    },
  };
}

function jobOfStatement({ statement, status, work, startedAt, endedAt }: StatementJob): CommandJob {
  const { tasks, stages } = work;
  // Spark tells every two seconds, and nothing more once the last rows are there.
  const done = status === "succeeded" ? { completedTasks: tasks, completedStages: stages } : {};
  return { jobId: statement, status, ...work, ...done, failedTasks: null, submittedAt: startedAt, endedAt };
}
