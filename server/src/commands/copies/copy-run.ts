import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { AccountStorage } from "../../accounts/contract.ts";
import { findResult } from "../../engines/arrow-result/spool-result.ts";
import { spoolTable, type TableColumn } from "../../engines/arrow-result/spool-table.ts";
import { isDiskFullError } from "../../processes/runner/disk-full.ts";
import { parseCopyRequest } from "../../engines/s3-copy/copy-request.ts";
import type { CopyEnd } from "../../engines/s3-copy/report.ts";
import type { Log } from "../../lib/log.ts";
import { readHead } from "../../lib/plain-file.ts";
import { oneLine } from "../../lib/terminal/printable.ts";
import { programFolders } from "../execution/command-files.ts";
import {
  CANCELLED,
  type CommandRun,
  type EndedOutcome,
  type LiveRun,
  type RunOutcome,
  type RunState,
} from "../execution/executor.ts";
import { type PreparedProcess, RunnerRun } from "../execution/runner-run.ts";
import type { CopyMetrics } from "./copy-metrics.ts";
import { copiedFiles, type CopiedFile, readCopyState } from "./copy-report.ts";

export interface CopyRunServices {
  readonly storage: Pick<AccountStorage, "noteKeysWork">;
  readonly metrics: CopyMetrics;
  readonly log: Log;
}

/** The name of the request in the attempt's `input`. */
export const REQUEST_FILE = "copy.json";

/** The account's processes may be able to replace the file, so its size is not trusted. */
const MAX_REQUEST_BYTES = 4 * 1024 * 1024;

/** The result of a copy: one row for each source. */
const COLUMNS: readonly TableColumn<CopiedFile>[] = [
  { name: "source", type: "string", valueOf: ({ source }) => source },
  { name: "destination", type: "string", valueOf: ({ destination }) => destination },
  { name: "bytes", type: "bigint", valueOf: ({ bytes }) => bytes },
];

/** Most results are stored within this time, so that the run ends without another poll. */
const SHORT_MS = 200;

/**
 * A copy: its process, and then the result table that the server makes of the process's report. A restarted server can make
 * the table again, because the report is complete when the process has ended.
 */
export class CopyRun implements LiveRun {
  readonly handle: unknown;
  readonly #run: CommandRun;
  readonly #services: CopyRunServices;
  readonly #process: RunnerRun;
  readonly #ending = new AbortController();
  #finishing: Promise<void> | undefined;
  #outcome: RunOutcome | undefined;

  /** Without `prepared`, the run is adopted. */
  constructor(run: CommandRun, services: CopyRunServices, prepared: PreparedProcess | undefined) {
    this.#run = run;
    this.#services = services;
    this.#process = new RunnerRun(run.files, () => this.#readProgress(), prepared);
    this.handle = this.#process.handle;
  }

  begin(): Promise<void> {
    return this.#process.begin();
  }

  async poll(): Promise<RunState> {
    if (this.#finishing === undefined) {
      const seen = await this.#process.poll();
      if (seen.state !== "ended") return seen;
      this.#finishing = this.#finish(seen).then((outcome) => {
        this.#outcome = outcome;
      });
      await Promise.race([this.#finishing, delay(SHORT_MS)]);
    }
    return this.#outcome ?? { state: "running", pid: null, progress: 99 };
  }

  async changed(signal: AbortSignal): Promise<void> {
    if (this.#finishing === undefined) return this.#process.changed(signal);
    const aborted = Promise.withResolvers<void>();
    const onAbort = (): void => aborted.resolve();
    signal.addEventListener("abort", onAbort);
    try {
      if (!signal.aborted) await Promise.race([this.#finishing, aborted.promise]);
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  async stop(): Promise<void> {
    this.#ending.abort();
    if (this.#finishing === undefined) await this.#process.stop();
    else await this.#finishing;
  }

  leave(): void {
    this.#ending.abort();
  }

  async #readProgress(): Promise<number> {
    return (await readCopyState(this.#run.files.report)).progress?.percent ?? 0;
  }

  /** Never fails. */
  async #finish(seen: EndedOutcome): Promise<RunOutcome> {
    try {
      const { end } = await readCopyState(this.#run.files.report);
      if (end !== undefined) this.#services.metrics.ended(end);
      if (seen.kind === "succeeded" && end?.failure === null) return await this.#succeed(seen, end);
      return failureOf(seen, this.#process.endCause === "exited" ? end : undefined);
    } catch (error) {
      if (this.#ending.signal.aborted) return CANCELLED;
      if (isDiskFullError(error)) return { ...seen, kind: "disk-full", cause: "the disk is full" };
      this.#services.log.error({ err: error, command: this.#run.command.id }, "the result of a copy cannot be stored");
      return { ...seen, kind: "failed", cause: "its result cannot be stored; the log of the server says more" };
    }
  }

  async #succeed(seen: EndedOutcome, end: CopyEnd): Promise<RunOutcome> {
    const { files, command } = this.#run;
    const { bytes = 0, columns = [] } =
      (await findResult(files.folder)) ??
      (await spoolTable(files.folder, COLUMNS, copiedFiles(files.report), this.#ending.signal)) ??
      {};
    if (end.usedAccountKeys) await this.#noteKeysWork();
    const query = String(command.command["sub_command_args"]);
    return { ...seen, outputBytes: bytes, resultTable: { query, columns } };
  }

  /** Best effort: if it fails, the next copy with the same keys notes it. */
  async #noteKeysWork(): Promise<void> {
    const { command, files } = this.#run;
    try {
      const text = await readHead(join(programFolders(files.folder).input, REQUEST_FILE), MAX_REQUEST_BYTES);
      const { credentials } = parseCopyRequest(text).account.s3;
      if (credentials !== null) await this.#services.storage.noteKeysWork(command.accountId, credentials);
    } catch (error) {
      this.#services.log.warn(
        { err: error, command: command.id },
        "an account's storage could not be marked as validated",
      );
    }
  }
}

/** `end`: what the process itself reported, if it ended by itself. */
function failureOf(seen: EndedOutcome, end: CopyEnd | undefined): EndedOutcome {
  const failure = end?.failure ?? null;
  if (failure !== null && (seen.kind === "failed" || seen.kind === "succeeded")) {
    return { ...seen, kind: end?.isRefused === true ? "refused" : "failed", cause: oneLine(failure) };
  }
  return seen.kind === "succeeded" ? { ...seen, kind: "failed", cause: "its process ended without a report" } : seen;
}
