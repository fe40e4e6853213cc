import type { SparkJob } from "../../engines/spark-submit/event-log/job-counts.ts";
import type { AttemptFiles } from "../execution/command-files.ts";
import type { CommandFilesOf } from "../output/command-text.ts";
import type { ResultOwner } from "../store/outcome.ts";

/** A job of a program, or a statement of a query. Spark does not report the failed tasks of a statement. */
export type CommandJob = Omit<SparkJob, "failedTasks"> & { readonly failedTasks: number | null };

/** Finds the jobs of a kind of command. */
export type JobSource = (files: AttemptFiles, accountId: number) => Promise<readonly CommandJob[]>;

export const noJobs: JobSource = () => Promise.resolve([]);

export interface CommandJobs {
  of(command: ResultOwner): Promise<readonly CommandJob[]>;
}

export function commandJobs(
  commandFilesOf: CommandFilesOf,
  sourceOf: (command: ResultOwner) => JobSource,
): CommandJobs {
  return {
    async of(command) {
      const { id, accountId, attempt } = command;
      return attempt === 0 ? [] : sourceOf(command)(commandFilesOf(accountId, id).attempt(attempt), accountId);
    },
  };
}
