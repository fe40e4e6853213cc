import { findResult, type SpooledResult } from "../../engines/arrow-result/spool-result.ts";
import { spoolTable, type TableColumn } from "../../engines/arrow-result/spool-table.ts";
import { isDiskFullError } from "../../processes/runner/disk-full.ts";
import { limitConcurrency } from "../../lib/limit-concurrency.ts";
import { Fault } from "../../lib/fault.ts";
import type { Log } from "../../lib/log.ts";
import { oneLine } from "../../lib/terminal/printable.ts";
import {
  type CommandRun,
  type RunOutcome,
  ended,
  failed,
  SUCCEEDED,
  type EndedOutcome,
} from "../execution/executor.ts";
import { InProcessRun } from "../execution/in-process-run.ts";
import { sizeOf } from "../execution/run-log.ts";
import { AddedJournal } from "./added-journal.ts";
import type { RefreshRequest, RefreshTable, RefreshedPartition } from "../../catalog/contract.ts";

export interface RefreshServices {
  readonly refreshTable: RefreshTable;
  readonly log: Log;
  /** Timeouts are checked at multiples of this time. */
  readonly checkSeconds: number;
  readonly logLimitBytes: number;
}

/**
 * A table refresh, in this process. The metastore knows which partitions there are, and the journal which ones the refresh
 * has added. The next server can therefore begin the refresh again and end with the same result.
 */
export class RefreshRun extends InProcessRun {
  readonly handle = { kind: "refresh" };
  readonly #services: RefreshServices;

  constructor(run: CommandRun, services: RefreshServices) {
    super(run, { checkSeconds: services.checkSeconds, logBytes: services.logLimitBytes });
    this.#services = services;
  }

  begin(): Promise<void> {
    this.launch(() => this.#conduct().catch((error: unknown) => this.#explain(error)));
    return Promise.resolve();
  }

  async #conduct(): Promise<RunOutcome> {
    const { folder, log } = this.run.files;
    const result = (await findResult(folder)) ?? (await this.#refresh(folder));
    const { bytes = 0, columns = [] } = result ?? {};
    const query = String(this.run.command.command["query"]);
    return { ...SUCCEEDED, outputBytes: bytes, logBytes: await sizeOf(log), resultTable: { query, columns } };
  }

  async #refresh(folder: string): Promise<SpooledResult | undefined> {
    const signal = this.ending;
    const journal = await AddedJournal.open(folder);
    try {
      const inTurn = limitConcurrency(1);
      const report = {
        log: (lines: readonly string[]) => inTurn(() => this.log.write(...lines.map(oneLine))),
        logSummary: (line: string) => inTurn(() => this.log.explain(oneLine(line))),
        progress: (percent: number) => this.advance(percent),
      };
      await this.#services.refreshTable(requestOf(this.run), { journal, report, signal });
      signal.throwIfAborted();
      return await spoolTable(folder, COLUMNS, journal.batches());
    } finally {
      await journal.close();
    }
  }

  async #explain(error: unknown): Promise<RunOutcome> {
    const outcome = this.endedBy ?? this.#failure(error);
    return outcome.state === "ended" ? { ...outcome, logBytes: await sizeOf(this.run.files.log) } : outcome;
  }

  #failure(error: unknown): EndedOutcome {
    if (isDiskFullError(error)) return ended("disk-full", "the disk is full");
    if (error instanceof Fault) return failed(oneLine(error.publicMessage));
    this.#services.log.error({ err: error, command: this.run.command.id }, "a table refresh has failed");
    return failed("the refresh has failed; the log of the server says more");
  }
}

/** The submission has checked the options. */
function requestOf({ command: { accountId, options } }: CommandRun): RefreshRequest {
  const { database, table, stableMinutes } = options ?? {};
  return {
    accountId,
    schema: String(database),
    table: String(table),
    stableMinutes: typeof stableMinutes === "number" ? stableMinutes : null,
  };
}

/** The result of a refresh: a table of the added partitions. */
const COLUMNS: readonly TableColumn<RefreshedPartition>[] = [
  { name: "partition", type: "string", valueOf: ({ name }) => name },
  { name: "location", type: "string", valueOf: ({ location }) => location },
];
