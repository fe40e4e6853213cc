import { readFile } from "node:fs/promises";
import { parseStatus, type RunStatus } from "../../processes/runner/protocol.ts";
import type { JobSource } from "../results/job-source.ts";
import { readCopyState } from "./copy-report.ts";

/** A copy is one job, whose tasks are files. */
export const copyJobs: JobSource = async ({ status: statusFile, report }) => {
  const status = await readStatus(statusFile);
  const startedAt = Date.parse(status?.startedAt ?? "");
  if (status === undefined || Number.isNaN(startedAt)) return [];
  const { progress, end } = await readCopyState(report);
  const isDone = end !== undefined && end.failure === null;
  const completedTasks = end === undefined ? (progress?.files ?? 0) : end.files + end.earlierFiles;
  const endedAt = Date.parse(status.endedAt ?? "");
  return [
    {
      jobId: 0,
      status: isDone ? "succeeded" : status.state === "ended" ? "failed" : "running",
      tasks: isDone ? completedTasks : Math.max(completedTasks, progress?.totalFiles ?? 0),
      completedTasks,
      failedTasks: null,
      stages: 1,
      completedStages: isDone ? 1 : 0,
      submittedAt: startedAt,
      endedAt: Number.isNaN(endedAt) ? null : endedAt,
    },
  ];
};

/** Undefined: the process has not begun. */
async function readStatus(path: string): Promise<RunStatus | undefined> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  return text === undefined ? undefined : parseStatus(text);
}
