import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { Nullable, OneOf, Timestamp } from "../http/schema.ts";
import { isoSeconds } from "../lib/clock.ts";
import { findCommandOutcome, READ_COMMANDS, CommandParams } from "./view-command.ts";
import type { CommandJob, CommandJobs } from "./results/job-source.ts";
import { unreachableNode, type WithOtherNodes } from "./output/other-nodes.ts";
import { hasEnded } from "./store/command-row.ts";

const Job = Type.Object({
  job_id: Type.Integer({
    description: "Spark's own id; for a query, the position of the statement in its script, from 0",
  }),
  url: Nullable(Type.String()),
  job_stats: Type.Object({
    status: OneOf(["running", "succeeded", "failed", "killed"], {
      description: "killed: it was running when the command ended",
    }),
    num_tasks: Type.Integer(),
    num_completed_tasks: Type.Integer(),
    num_failed_tasks: Nullable(Type.Integer({ description: "Null for a query or a copy: it is not reported" })),
    num_stages: Type.Integer(),
    num_completed_stages: Type.Integer(),
    submitted_at: Timestamp,
    ended_at: Nullable(Timestamp),
  }),
});

/** The Spark jobs of the last attempt. */
export const listJobs = operation({
  id: "command_jobs",
  summary: "List the Spark jobs of a command",
  description:
    "The jobs of the last attempt, ordered by id, at most the newest thousand. For a program they come from Spark's event log. At most the first GiB of it is read, for at most a minute; the list has the jobs read so far. For a query there is one entry for each statement, with the tasks that Spark reported while it ran. For a copy there is one entry, whose tasks are files.",
  tag: "Commands",
  method: "GET",
  paths: { "v1.2": "/commands/:command_id/jobs" },
  access: { permission: READ_COMMANDS },
  params: CommandParams,
  example: {
    reply: [
      {
        job_id: 0,
        url: null,
        job_stats: {
          status: "succeeded",
          num_tasks: 6,
          num_completed_tasks: 6,
          num_failed_tasks: 0,
          num_stages: 2,
          num_completed_stages: 2,
          submitted_at: "2026-01-31T08:30:00Z",
          ended_at: "2026-01-31T08:30:04Z",
        },
      },
    ],
  },
  reply: Type.Array(Job),
  find: findCommandOutcome,

  async handle({ found, ...request }, { commandJobs, otherNodes }: { commandJobs: CommandJobs } & WithOtherNodes) {
    const answer = await otherNodes.forward(found, request);
    if (answer !== undefined) return answer;
    const nodeId = found.nodes.at(-1);
    if (!otherNodes.isHere(nodeId)) throw unreachableNode(nodeId);
    const jobs = await commandJobs.of(found);
    return jobs.map((job) => jobObject(job, hasEnded(found.status)));
  },
});

function jobObject(job: CommandJob, isOver: boolean) {
  return {
    job_id: job.jobId,
    url: null,
    job_stats: {
      status: isOver && job.status === "running" ? ("killed" as const) : job.status,
      num_tasks: job.tasks,
      num_completed_tasks: job.completedTasks,
      num_failed_tasks: job.failedTasks,
      num_stages: job.stages,
      num_completed_stages: job.completedStages,
      submitted_at: timeOf(job.submittedAt),
      ended_at: job.endedAt === null ? null : timeOf(job.endedAt),
    },
  };
}

/** A program can write anything into its event log, even impossible times. */
function timeOf(milliseconds: number): string {
  const isTime = milliseconds >= 0 && milliseconds < LAST_TIME_MS;
  return isoSeconds(new Date(isTime ? milliseconds : 0));
}

const LAST_TIME_MS = Date.parse("9999-12-31T23:59:59Z");
