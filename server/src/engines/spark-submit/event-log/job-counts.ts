/**
 * Counts jobs and tasks from the events of one Spark application. Pure. A program can write any event, so each one
 * takes time in proportion to its length, and memory is limited: ended work is kept as numbers, and only the newest
 * jobs stay in the list.
 */
export interface SparkJob {
  readonly jobId: number;
  readonly status: JobStatus;
  readonly tasks: number;
  readonly completedTasks: number;
  readonly failedTasks: number;
  readonly stages: number;
  readonly completedStages: number;
  /** Milliseconds since 1970. */
  readonly submittedAt: number;
  readonly endedAt: number | null;
}

export type JobStatus = "running" | "succeeded" | "failed";

interface LiveJob extends SparkJob {
  status: JobStatus;
  completedTasks: number;
  failedTasks: number;
  completedStages: number;
  endedAt: number | null;
  /** The job's stages in `#jobOfStage`. */
  stageIds: readonly number[];
}

const keptJobs = 1_000;
/** Stages of running jobs; the tasks of further stages are counted when their job ends. */
const keptStages = 4_000;

export class JobCounts {
  readonly #jobs = new Map<number, LiveJob>();
  readonly #jobOfStage = new Map<number, LiveJob>();
  /** The number of stage ids that running jobs hold, including duplicates. */
  #heldStages = 0;
  #knownTasks = 0;
  #doneTasks = 0;
  #progress = 0;

  /** The percentage of known tasks that are done, 0–99. It never decreases. */
  get progress(): number {
    return this.#progress;
  }

  /** The newest thousand, in the order of their ids. */
  get jobs(): SparkJob[] {
    return [...this.#jobs.values()].map(({ stageIds: _, ...job }) => job);
  }

  /** A second session in one program counts its jobs from 0 again. */
  restart(): void {
    this.#jobs.clear();
    this.#jobOfStage.clear();
    this.#heldStages = 0;
    this.#knownTasks = 0;
    this.#doneTasks = 0;
  }

  add(event: Readonly<Record<string, unknown>>): void {
    switch (event["Event"]) {
      case "SparkListenerJobStart":
        this.#startJob(event);
        break;
      case "SparkListenerTaskEnd":
        this.#endTask(event);
        break;
      case "SparkListenerStageCompleted":
        this.#completeStage(event);
        break;
      case "SparkListenerJobEnd":
        this.#endJob(event);
        break;
      default:
        return;
    }
    const share = this.#knownTasks === 0 ? 0 : this.#doneTasks / this.#knownTasks;
    this.#progress = Math.max(this.#progress, Math.min(99, Math.floor(100 * share)));
  }

  #startJob(event: Readonly<Record<string, unknown>>): void {
    const jobId = countOf(event["Job ID"]);
    if (jobId === undefined || this.#jobs.has(jobId)) return;
    const stages = listOf(event["Stage Infos"]);
    const tasks = stages.reduce((sum, stage) => sum + (countOf(stage["Number of Tasks"]) ?? 0), 0);
    const stageIds = stages
      .slice(0, keptStages - this.#heldStages)
      .map((stage) => countOf(stage["Stage ID"]))
      .filter((id) => id !== undefined);
    const job: LiveJob = {
      jobId,
      status: "running",
      tasks,
      completedTasks: 0,
      failedTasks: 0,
      stages: stages.length,
      completedStages: 0,
      submittedAt: timeOf(event["Submission Time"]),
      endedAt: null,
      stageIds,
    };
    this.#knownTasks += tasks;
    this.#heldStages += stageIds.length;
    for (const stageId of stageIds) this.#jobOfStage.set(stageId, job);
    this.#jobs.set(jobId, job);
    if (this.#jobs.size > keptJobs) this.#dropOldestJob();
  }

  #endTask(event: Readonly<Record<string, unknown>>): void {
    const job = this.#jobOf(event["Stage ID"]);
    if (job === undefined) return;
    const succeeded = objectOf(event["Task End Reason"])["Reason"] === "Success";
    if (!succeeded) job.failedTasks += 1;
    // A speculative or repeated task is no progress.
    else if (job.completedTasks < job.tasks) {
      job.completedTasks += 1;
      this.#doneTasks += 1;
    }
  }

  #completeStage(event: Readonly<Record<string, unknown>>): void {
    const info = objectOf(event["Stage Info"]);
    const job = this.#jobOf(info["Stage ID"]);
    const isNew = job !== undefined && job.completedStages < job.stages;
    if (isNew && info["Failure Reason"] === undefined) job.completedStages += 1;
  }

  /** Spark skips stages whose result exists already; their tasks count as done at the end of the job. */
  #endJob(event: Readonly<Record<string, unknown>>): void {
    const job = this.#jobs.get(countOf(event["Job ID"]) ?? -1);
    if (job?.status !== "running") return;
    const succeeded = objectOf(event["Job Result"])["Result"] === "JobSucceeded";
    job.status = succeeded ? "succeeded" : "failed";
    job.endedAt = timeOf(event["Completion Time"]);
    this.#doneTasks += job.tasks - job.completedTasks;
    if (succeeded) job.completedTasks = job.tasks;
    this.#forgetStages(job);
  }

  #jobOf(stageId: unknown): LiveJob | undefined {
    return this.#jobOfStage.get(countOf(stageId) ?? -1);
  }

  #dropOldestJob(): void {
    const [oldest] = this.#jobs.values();
    if (oldest === undefined) return;
    if (oldest.status === "running") {
      this.#doneTasks += oldest.tasks - oldest.completedTasks;
      this.#forgetStages(oldest);
    }
    this.#jobs.delete(oldest.jobId);
  }

  /** A stage may belong to a later job by now. */
  #forgetStages(job: LiveJob): void {
    this.#heldStages -= job.stageIds.length;
    for (const stageId of job.stageIds) if (this.#jobOfStage.get(stageId) === job) this.#jobOfStage.delete(stageId);
    job.stageIds = [];
  }
}

/** Spark's ids and numbers of tasks are 32-bit integers. */
const largestCount = 2 ** 31 - 1;

function countOf(value: unknown): number | undefined {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= largestCount ? Number(value) : undefined;
}

function timeOf(value: unknown): number {
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : 0;
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  // Parsed JSON that is an object has string keys.
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

function listOf(value: unknown): Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}
