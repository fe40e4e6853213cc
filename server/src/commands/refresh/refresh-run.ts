import { setImmediate as nextTurn } from "node:timers/promises";
import { findResult, type SpooledResult, type ResultColumn } from "../../engines/arrow-result/spool-result.ts";
import { isDiskFullError } from "../../engines/runner/disk-full.ts";
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
      return await spoolAdded(folder, journal.batches());
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

const COLUMNS: readonly ResultColumn[] = [
  { name: "partition", type: "string" },
  { name: "location", type: "string" },
];

const ROWS_AT_ONCE = 1000;

/** The result of a refresh: a table of the added partitions, stored and read like the result of a query. */
async function spoolAdded(
  folder: string,
  batches: AsyncIterable<readonly RefreshedPartition[]>,
): Promise<SpooledResult | undefined> {
  // Loaded with the first result, to save memory of idle servers.
  const [{ Table, tableToIPC, Utf8, vectorFromArray }, { createSpool }] = await Promise.all([
    import("apache-arrow"),
    import("../../engines/arrow-result/spool-writer.ts"),
  ]);
  const texts = (values: readonly string[]) => vectorFromArray(values, new Utf8());
  const spool = await createSpool({ folder, statement: 0 });
  let rows = 0;
  let isFinished = false;
  const append = async (batch: readonly RefreshedPartition[]): Promise<void> => {
    const table = new Table({
      partition: texts(batch.map(({ name }) => name)),
      location: texts(batch.map(({ location }) => location)),
    });
    const data = tableToIPC(table, "stream");
    await spool.append({ data, rowCount: batch.length, startRow: rows, part: 0, parts: 1, position: `row-${rows}` });
    rows += batch.length;
  };
  try {
    await append([]); // so that it has columns even if nothing was added
    for await (const batch of batches) {
      for (let from = 0; from < batch.length; from += ROWS_AT_ONCE) {
        await append(batch.slice(from, from + ROWS_AT_ONCE));
        await nextTurn(); // encoding blocks the event loop
      }
    }
    const result = await spool.finish(COLUMNS);
    isFinished = true;
    return result;
  } finally {
    if (!isFinished) await spool.close();
  }
}
