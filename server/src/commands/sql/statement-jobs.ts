/**
 * The progress of a statement, for `jobs`: Spark Connect reports the tasks of a statement, but not its jobs. Each change is
 * a line in the attempt's folder, so that the list survives a restart.
 */
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import type { ConnectWork } from "../../engines/spark-connect/connect-event.ts";
import { openPlainFile, readChunks } from "../../lib/plain-file.ts";

export interface StatementJob {
  /** Its position in the script, from 0. */
  readonly statement: number;
  readonly status: "running" | "succeeded" | "failed";
  readonly work: ConnectWork;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly endedAt: number | null;
}

/** Only the newest statements of a very long script are listed, like the jobs of a program. */
const KEPT_JOBS = 1_000;
const NO_WORK: ConnectWork = { stages: 0, completedStages: 0, tasks: 0, completedTasks: 0 };

export function statementsFile(folder: string): string {
  return join(folder, "statements.jsonl");
}

/** Lines are written in the background; only `end` waits until all are written. */
export class StatementJournal {
  readonly #path: string;
  #written: Promise<void> = Promise.resolve();

  constructor(folder: string) {
    this.#path = statementsFile(folder);
  }

  /** A resumed statement has a first line already, with the time of its start. */
  begin(statement: number, isResumed: boolean): StatementRecord {
    const startedAt = Date.now();
    let work = NO_WORK;
    const note = (status: StatementJob["status"]): void =>
      this.#note({ statement, status, work, startedAt, endedAt: status === "running" ? null : Date.now() });
    if (!isResumed) note("running");
    return {
      progress(now) {
        work = now;
        note("running");
      },
      end: (status) => note(status),
    };
  }

  /** Settles when all lines are written. */
  async end(): Promise<void> {
    await this.#written;
  }

  #note(job: StatementJob): void {
    const line = `${JSON.stringify(job)}\n`;
    // A statement does not fail because its progress cannot be written.
    this.#written = this.#written.then(() => appendFile(this.#path, line, { mode: 0o600 }).catch(() => undefined));
  }
}

export interface StatementRecord {
  progress(work: ConnectWork): void;
  end(status: "succeeded" | "failed"): void;
}

/** Enough for the jobs that are kept. Reading the whole file of a very long script would take minutes. */
const READ_BYTES = 4 * 1024 * 1024;

export async function readStatementJobs(folder: string): Promise<StatementJob[]> {
  const file = await openPlainFile(statementsFile(folder));
  if (file === undefined) return [];
  const jobs = new Map<number, StatementJob>();
  try {
    const start = Math.max(0, file.size - READ_BYTES);
    const lines = createInterface({ input: Readable.from(readChunks(file, start, file.size), { objectMode: false }) });
    for await (const line of lines) {
      // The first line may be cut off, and is skipped then.
      const job = parsed(line);
      if (job === undefined) continue;
      jobs.set(job.statement, joined(jobs.get(job.statement), job));
      const [oldest] = jobs.keys();
      if (jobs.size > KEPT_JOBS && oldest !== undefined) jobs.delete(oldest);
    }
  } finally {
    await file.handle.close();
  }
  return [...jobs.values()];
}

function joined(before: StatementJob | undefined, job: StatementJob): StatementJob {
  if (before === undefined) return job;
  // After a restart, Spark may not have reported the work of a resumed statement again.
  const work = job.work.tasks >= before.work.tasks ? job.work : before.work;
  return { ...job, work, startedAt: before.startedAt };
}

/** Undefined: it was cut off by a crash. */
function parsed(line: string): StatementJob | undefined {
  try {
    return JSON.parse(line) as StatementJob; // written above
  } catch {
    return undefined;
  }
}
