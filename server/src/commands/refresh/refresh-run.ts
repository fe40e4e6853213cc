import { setTimeout as delay } from "node:timers/promises";
import { findResult, type SpooledResult } from "../../engines/arrow-result/spool-result.ts";
import { isDiskFullError } from "../../engines/runner/disk-full.ts";
import { after } from "../../lib/after.ts";
import { limitConcurrency } from "../../lib/limit-concurrency.ts";
import { Fault } from "../../lib/fault.ts";
import type { Log } from "../../lib/log.ts";
import { oneLine } from "../../lib/one-line.ts";
import type { LiveRun, Run, RunOutcome, RunState } from "../execution/executor.ts";
import { LineLog } from "../execution/line-log.ts";
import { CANCELLED, ended, failed, SUCCEEDED, timedOut, type Ended, timeoutCheckAt } from "../execution/run-end.ts";
import { sizeOf } from "../execution/run-log.ts";
import { AddedJournal } from "./added-journal.ts";
import { spoolAdded } from "./added-result.ts";
import type { RefreshRequest, RefreshTable } from "../../catalog/contract.ts";

export interface RefreshServices {
  readonly refreshTable: RefreshTable;
  readonly log: Log;
  /** Timeouts are looked at so often. */
  readonly checkSeconds: number;
  readonly logLimitBytes: number;
}

const LOOK_EVERY_MS = 1000;

/**
 * A table refresh, in this process. Where it stands is what the metastore knows, and what it has added is in its journal:
 * so the next Headgate begins it again, and ends with the same result.
 */
export class RefreshRun implements LiveRun {
  readonly handle = { kind: "refresh" };
  readonly #run: Run;
  readonly #services: RefreshServices;
  readonly #log: LineLog;
  readonly #ending = new AbortController();
  readonly #over = Promise.withResolvers<void>();
  #endedBy: Ended | undefined;
  #hasBegun = false;
  #progress = 0;
  #outcome: RunOutcome | undefined;

  constructor(run: Run, services: RefreshServices) {
    this.#run = run;
    this.#services = services;
    this.#log = new LineLog(run.files.log, services.logLimitBytes);
  }

  begin(): Promise<void> {
    this.#hasBegun = true;
    const limit = timeoutCheckAt(this.#run.timeoutSeconds, this.#services.checkSeconds) - this.#run.elapsedSeconds;
    const callOff = after(limit * 1000, () => this.#callOff(timedOut(this.#run.timeoutSeconds)));
    void this.#conduct()
      .catch((error: unknown) => this.#explain(error))
      .then((outcome) => this.#end(outcome))
      .finally(callOff);
    return Promise.resolve();
  }

  look(): Promise<RunState> {
    return Promise.resolve(this.#outcome ?? { state: "running", pid: null, progress: this.#progress });
  }

  async changed(signal: AbortSignal): Promise<void> {
    const pause = delay(LOOK_EVERY_MS, undefined, { signal, ref: false }).catch(() => undefined);
    await Promise.race([this.#over.promise, pause]);
  }

  async stop(): Promise<void> {
    this.#callOff(CANCELLED);
    if (this.#hasBegun) await this.#over.promise;
    else this.#end({ state: "never-began" });
  }

  /** The next Headgate goes on with it; how this one ends nobody asks any more. */
  leave(): void {
    this.#callOff(CANCELLED);
  }

  #callOff(why: Ended): void {
    this.#endedBy ??= why;
    this.#ending.abort();
  }

  #end(outcome: RunOutcome): void {
    this.#outcome ??= outcome;
    this.#over.resolve();
  }

  async #conduct(): Promise<RunOutcome> {
    const { folder, log } = this.#run.files;
    const result = (await findResult(folder)) ?? (await this.#refresh(folder));
    const { bytes = 0, columns = [] } = result ?? {};
    const query = String(this.#run.command.command["query"]);
    return { ...SUCCEEDED, outputBytes: bytes, logBytes: await sizeOf(log), resultTable: { query, columns } };
  }

  async #refresh(folder: string): Promise<SpooledResult | undefined> {
    const { signal } = this.#ending;
    const journal = await AddedJournal.open(folder);
    try {
      const inTurn = limitConcurrency(1);
      const report = {
        log: (lines: readonly string[]) => inTurn(() => this.#log.say(...lines.map(oneLine))),
        logSummary: (line: string) => inTurn(() => this.#log.explain(oneLine(line))),
        progress: (percent: number) => {
          this.#progress = Math.max(this.#progress, percent);
        },
      };
      await this.#services.refreshTable(requestOf(this.#run), { journal, report, signal });
      signal.throwIfAborted();
      return await spoolAdded(folder, journal.batches());
    } finally {
      await journal.close();
    }
  }

  async #explain(error: unknown): Promise<RunOutcome> {
    const outcome = this.#endedBy === undefined ? this.#failure(error) : this.#endedBy;
    return { ...outcome, logBytes: await sizeOf(this.#run.files.log) };
  }

  #failure(error: unknown): Ended {
    if (isDiskFullError(error)) return ended("disk-full", "the disk is full");
    if (error instanceof Fault) return failed(oneLine(error.publicMessage));
    this.#services.log.error({ err: error, command: this.#run.command.id }, "a table refresh has failed");
    return failed("the refresh has failed; the log of the server says more");
  }
}

/** As its submission has checked them. */
function requestOf({ command: { accountId, options } }: Run): RefreshRequest {
  const { database, table, stableMinutes } = options ?? {};
  return {
    accountId,
    schema: String(database),
    table: String(table),
    stableMinutes: typeof stableMinutes === "number" ? stableMinutes : null,
  };
}
