import { setTimeout as delay } from "node:timers/promises";
import { longTimeout } from "../../lib/long-timeout.ts";
import {
  type LiveRun,
  type CommandRun,
  type RunOutcome,
  type RunState,
  CANCELLED,
  timedOut,
  timeoutCheckAt,
  explainFailure,
} from "./executor.ts";
import { LineLog } from "./run-log.ts";

export interface InProcessLimits {
  /** Timeouts are checked at multiples of this time. */
  readonly checkSeconds: number;
  /** The size of the command's log. */
  readonly logBytes: number;
}

const POLL_INTERVAL_MS = 1000;

/** A run without a process of its own: the server itself does the work, until it is done, times out or is cancelled. */
export abstract class InProcessRun implements LiveRun {
  abstract readonly handle: unknown;
  protected readonly run: CommandRun;
  protected readonly log: LineLog;
  /** The process that works for the run; null: the server alone does. */
  protected pid: number | null = null;
  readonly #checkSeconds: number;
  readonly #ending = new AbortController();
  readonly #over = Promise.withResolvers<void>();
  #hasBegun = false;
  #isLeft = false;
  #progress = 0;
  #endedBy: RunOutcome | undefined;
  #outcome: RunOutcome | undefined;

  constructor(run: CommandRun, { checkSeconds, logBytes }: InProcessLimits) {
    this.run = run;
    this.log = new LineLog(run.files.log, logBytes);
    this.#checkSeconds = checkSeconds;
  }

  abstract begin(): Promise<void>;

  poll(): Promise<RunState> {
    return Promise.resolve(this.#outcome ?? { state: "running", pid: this.pid, progress: this.#progress });
  }

  async changed(signal: AbortSignal): Promise<void> {
    const pause = delay(POLL_INTERVAL_MS, undefined, { signal, ref: false }).catch(() => undefined);
    await Promise.race([this.#over.promise, pause]);
  }

  async stop(): Promise<void> {
    this.endBy(CANCELLED);
    if (this.#hasBegun) await this.#over.promise;
    else this.setOutcome({ state: "never-began" });
  }

  /** The next server continues the run, so its outcome here does not matter. */
  leave(): void {
    this.#isLeft = true;
    this.endBy(CANCELLED);
  }

  protected get isLeft(): boolean {
    return this.#isLeft;
  }

  /** Aborted when the work has to stop. */
  protected get ending(): AbortSignal {
    return this.#ending.signal;
  }

  /** The outcome of work that was stopped; undefined: it was not stopped. */
  protected get endedBy(): RunOutcome | undefined {
    return this.#endedBy;
  }

  /** Stops the work. If called several times, the first outcome counts. */
  protected endBy(outcome: RunOutcome): void {
    this.#endedBy ??= outcome;
    this.#ending.abort();
  }

  protected advance(percent: number): void {
    this.#progress = Math.max(this.#progress, percent);
  }

  protected launch(work: () => Promise<RunOutcome>): void {
    this.#hasBegun = true;
    const { timeoutSeconds, elapsedSeconds } = this.run;
    const limitSeconds = timeoutCheckAt(timeoutSeconds, this.#checkSeconds) - elapsedSeconds;
    const cancelTimeout = longTimeout(limitSeconds * 1000, () => this.endBy(timedOut(timeoutSeconds)));
    void work()
      .catch(explainFailure)
      .then((outcome) => this.setOutcome(outcome))
      .finally(cancelTimeout);
  }

  protected setOutcome(outcome: RunOutcome): void {
    this.#outcome ??= outcome;
    this.#over.resolve();
  }
}
