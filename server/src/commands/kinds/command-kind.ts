import type { JobSource } from "../results/command-jobs.ts";
import type { RunnableKind } from "../execution/executor.ts";
import type { ResultSource } from "../results/result-source.ts";
import type { SubmittableKind } from "../submission/plan.ts";

/**
 * Everything that differs between kinds of commands. A kind is one file in this folder and one line in `all-kinds.ts`.
 * Its name is stored with each command, so a released name never changes.
 */
export interface CommandKind extends SubmittableKind, RunnableKind {
  readonly results: ResultSource;
  readonly jobs: JobSource;
}
