/**
 * Progress and jobs from the event logs of programs. Programs can write anything into them, so a separate thread reads
 * them in short turns, round robin between owners: no owner blocks another, and the main thread parses nothing. The
 * thread starts when it is needed and ends when it has been idle for a while.
 */
import { Worker } from "node:worker_threads";
import { FairQueue } from "../../../lib/fair-queue.ts";
import { Fault } from "../../../lib/fault.ts";
import type { Log } from "../../../lib/log.ts";
import type { SparkJob } from "./job-counts.ts";

export interface EventLogs {
  /** In percent. Undefined: the log could not be read within half a second. */
  progress(log: EventLogOf): Promise<number | undefined>;
  /** The jobs, as far as the log was read within five seconds; the next call continues. */
  jobs(log: EventLogOf): Promise<readonly SparkJob[]>;
  stop(): Promise<void>;
}

export interface EventLogOf {
  readonly path: string;
  /** The account that wrote it. */
  readonly owner: string;
}

export interface EventLogsOptions {
  readonly log: Log;
  readonly patienceMs?: Readonly<Record<Wanted, number>>;
  readonly waitingByOwner?: number;
  readonly idleMs?: number;
  readonly openThread?: () => TurnTaker;
}

interface Reading extends EventLogOf {
  readonly wants: Wanted;
  readonly until: number;
  readonly result: PromiseWithResolvers<EventLogState>;
}

const nothing: EventLogState = { progress: 0, jobs: [] };
/** The number of remembered logs whose reading crashed the thread; more than one is not expected. */
const keptFailures = 100;
const retryAfterSeconds = 5;

export function eventLogs(options: EventLogsOptions): EventLogs {
  return new QueuedEventLogs(options);
}

class QueuedEventLogs implements EventLogs {
  readonly #log: Log;
  readonly #patienceMs: Readonly<Record<Wanted, number>>;
  readonly #idleMs: number;
  readonly #openThread: () => TurnTaker;
  readonly #queue: FairQueue<Reading>;
  /** Concurrent callers with the same request share one reading. */
  readonly #readings = new Map<string, Reading>();
  readonly #failed = new Set<string>();
  #thread: TurnTaker | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  #isWorking = false;
  #isStopped = false;

  constructor({
    log,
    patienceMs = { progress: 500, jobs: 5_000 },
    waitingByOwner = 100,
    idleMs = 60_000,
    openThread = () => new EventLogThread(),
  }: EventLogsOptions) {
    this.#log = log;
    this.#patienceMs = patienceMs;
    this.#idleMs = idleMs;
    this.#openThread = openThread;
    this.#queue = new FairQueue({ waiting: waitingByOwner, taken: () => 1 });
  }

  async progress(log: EventLogOf): Promise<number | undefined> {
    const { promise: tooLate, resolve } = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => resolve(undefined), this.#patienceMs.progress);
    const state = await Promise.race([this.#read(log, "progress"), tooLate]);
    clearTimeout(timer);
    return state?.progress;
  }

  async jobs(log: EventLogOf): Promise<readonly SparkJob[]> {
    const reading = this.#read(log, "jobs");
    if (reading !== undefined) return (await reading).jobs;
    throw new Fault("unavailable", "Too many event logs are being read; try again.", { retryAfterSeconds });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const { result } of this.#readings.values()) result.resolve(nothing);
    await this.#endThread();
  }

  /** Undefined: too many readings of the owner are waiting. */
  #read({ path, owner }: EventLogOf, wants: Wanted): Promise<EventLogState> | undefined {
    if (this.#isStopped || this.#failed.has(path)) return Promise.resolve(nothing);
    const key = keyOf(path, wants);
    const underWay = this.#readings.get(key);
    if (underWay !== undefined) return underWay.result.promise;
    const until = performance.now() + this.#patienceMs[wants];
    const reading: Reading = { path, owner, wants, until, result: Promise.withResolvers<EventLogState>() };
    if (!this.#queue.add(owner, reading)) return undefined;
    this.#readings.set(key, reading);
    if (!this.#isWorking) void this.#work();
    return reading.result.promise;
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    clearTimeout(this.#idleTimer);
    for (let taken = this.#queue.take(); taken !== undefined && !this.#isStopped; taken = this.#queue.take()) {
      const reading = taken.item;
      const state = await this.#turn(reading, performance.now() >= reading.until);
      taken.release();
      if (state === undefined && this.#queue.add(reading.owner, reading)) continue;
      this.#readings.delete(keyOf(reading.path, reading.wants));
      // The queue may have become full meanwhile.
      reading.result.resolve(state ?? (await this.#turn(reading, true)) ?? nothing);
    }
    this.#isWorking = false;
    this.#idleTimer = setTimeout(() => void this.#endThread(), this.#idleMs).unref();
  }

  /** Undefined: there is more to read. */
  async #turn({ path, wants }: Reading, isLast: boolean): Promise<EventLogState | undefined> {
    if (this.#failed.has(path)) return nothing;
    this.#thread ??= this.#openThread();
    try {
      return await this.#thread.turn({ path, wants, isLast });
    } catch (error) {
      await this.#endThread();
      if (!this.#isStopped)
        this.#log.warn({ err: error, path }, "reading an event log failed; it will not be read again");
      this.#failed.add(path);
      const [oldest] = this.#failed;
      if (this.#failed.size > keptFailures && oldest !== undefined) this.#failed.delete(oldest);
      return nothing;
    }
  }

  async #endThread(): Promise<void> {
    clearTimeout(this.#idleTimer);
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.stop();
  }
}

function keyOf(path: string, wants: Wanted): string {
  return `${wants} ${path}`;
}

/** More than a hundred times the usual duration of a turn. */
const turnLimitMs = 15_000;

/** The main thread's side of the thread that reads event logs. */
export class EventLogThread implements TurnTaker {
  readonly #worker = new Worker(new URL("./event-log-worker.ts", import.meta.url), {
    // An event has at most 4 MiB and few levels of nesting, so it takes less than 100 MiB when parsed.
    resourceLimits: { maxOldGenerationSizeMb: 384, maxYoungGenerationSizeMb: 8 },
  });
  #underWay: PromiseWithResolvers<TurnReply> | undefined;
  #failure: Error | undefined;

  constructor() {
    this.#worker.unref();
    this.#worker.on("message", (reply: TurnReply) => this.#underWay?.resolve(reply));
    this.#worker.on("error", (error: unknown) => this.#fail(error));
    this.#worker.on("exit", (code) => this.#fail(code));
  }

  async turn(request: TurnRequest): Promise<TurnReply> {
    if (this.#failure !== undefined) throw this.#failure;
    const underWay = Promise.withResolvers<TurnReply>();
    this.#underWay = underWay;
    const limit = setTimeout(() => this.#fail("a turn took too long"), turnLimitMs);
    this.#worker.ref();
    try {
      this.#worker.postMessage(request, []);
      return await underWay.promise;
    } finally {
      clearTimeout(limit);
      this.#worker.unref();
    }
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }

  #fail(cause: unknown): void {
    this.#failure ??= new Error("the thread that reads event logs has ended", { cause });
    this.#underWay?.reject(this.#failure);
  }
}

/** One turn of reading. `isLast`: the reply has the state even if there is more to read. */
export interface TurnRequest {
  readonly path: string;
  readonly wants: Wanted;
  readonly isLast: boolean;
}

type Wanted = "progress" | "jobs";

/** Undefined: there is more to read. */
export type TurnReply = EventLogState | undefined;

/** `jobs` is empty if only the progress is wanted. */
export interface EventLogState {
  readonly progress: number;
  readonly jobs: readonly SparkJob[];
}

/** Reads logs, one turn at a time. */
export interface TurnTaker {
  /** Fails if the thread has ended or does not reply. */
  turn(request: TurnRequest): Promise<TurnReply>;
  stop(): Promise<void>;
}
