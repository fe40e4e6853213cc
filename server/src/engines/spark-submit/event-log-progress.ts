/**
 * Counts jobs and tasks from the events of one Spark application. Pure, and bounded: what is over is kept as numbers,
 * of jobs only the newest stay in the list.
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
}

const keptJobs = 1_000;
/** Jobs that run at once; a program that starts more of them shows the rest when they end. */
const keptStages = 100_000;

export class EventLogProgress {
  readonly #jobs = new Map<number, LiveJob>();
  readonly #jobOfStage = new Map<number, number>();
  #knownTasks = 0;
  #doneTasks = 0;
  #progress = 0;

  /** Tasks done of those known, 0–99 and never less than before: that it is all done only its end tells. */
  get progress(): number {
    return this.#progress;
  }

  /** In the order of their ids, the newest thousand. */
  get jobs(): SparkJob[] {
    return [...this.#jobs.values()].map((job) => ({ ...job }));
  }

  /** A second session in one program counts its jobs from 0 again. */
  restart(): void {
    this.#jobs.clear();
    this.#jobOfStage.clear();
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
    const jobId = numberOf(event["Job ID"]);
    const stages = listOf(event["Stage Infos"]);
    const tasks = stages.reduce((sum, stage) => sum + numberOf(stage["Number of Tasks"]), 0);
    for (const stage of stages) {
      if (this.#jobOfStage.size < keptStages) this.#jobOfStage.set(numberOf(stage["Stage ID"]), jobId);
    }
    this.#knownTasks += tasks;
    this.#jobs.set(jobId, {
      jobId,
      status: "running",
      tasks,
      completedTasks: 0,
      failedTasks: 0,
      stages: stages.length,
      completedStages: 0,
      submittedAt: numberOf(event["Submission Time"]),
      endedAt: null,
    });
    if (this.#jobs.size > keptJobs) this.#dropOldestJob();
  }

  #endTask(event: Readonly<Record<string, unknown>>): void {
    const job = this.#jobOf(event["Stage ID"]);
    if (job === undefined) return;
    const succeeded = objectOf(event["Task End Reason"])["Reason"] === "Success";
    if (!succeeded) job.failedTasks += 1;
    // A speculative or repeated task is no further step towards the end.
    else if (job.completedTasks < job.tasks) {
      job.completedTasks += 1;
      this.#doneTasks += 1;
    }
  }

  #completeStage(event: Readonly<Record<string, unknown>>): void {
    const info = objectOf(event["Stage Info"]);
    const job = this.#jobOf(info["Stage ID"]);
    if (job !== undefined && info["Failure Reason"] === undefined) job.completedStages += 1;
  }

  /** Stages whose result was there already are skipped; their tasks are done with the job. */
  #endJob(event: Readonly<Record<string, unknown>>): void {
    const job = this.#jobs.get(numberOf(event["Job ID"]));
    if (job === undefined) return;
    const succeeded = objectOf(event["Job Result"])["Result"] === "JobSucceeded";
    job.status = succeeded ? "succeeded" : "failed";
    job.endedAt = numberOf(event["Completion Time"]);
    this.#doneTasks += job.tasks - job.completedTasks;
    if (succeeded) job.completedTasks = job.tasks;
    this.#forgetStages(job.jobId);
  }

  #jobOf(stageId: unknown): LiveJob | undefined {
    const jobId = this.#jobOfStage.get(numberOf(stageId));
    return jobId === undefined ? undefined : this.#jobs.get(jobId);
  }

  #dropOldestJob(): void {
    const [oldest] = this.#jobs.keys();
    if (oldest === undefined) return;
    const job = this.#jobs.get(oldest);
    if (job?.status === "running") this.#doneTasks += job.tasks - job.completedTasks;
    this.#jobs.delete(oldest);
    this.#forgetStages(oldest);
  }

  #forgetStages(jobId: number): void {
    for (const [stageId, owner] of this.#jobOfStage) if (owner === jobId) this.#jobOfStage.delete(stageId);
  }
}

function numberOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  // Parsed JSON that is an object has string keys.
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

function listOf(value: unknown): Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}
