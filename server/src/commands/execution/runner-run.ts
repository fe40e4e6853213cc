import { findProcess, type ProcessHandle } from "../../processes/detached-process/detached-process.ts";
import type { Allowance } from "../../processes/runner/allowance.ts";
import { isFilesystemFull } from "../../processes/runner/disk-full.ts";
import type { EndCause, Order, ResourceLimits, RunStatus } from "../../processes/runner/protocol.ts";
import {
  isOver,
  openRunnerClient,
  type ProgramToRun,
  type RunLimits,
  type RunnerClient,
  type RunView,
} from "../../processes/runner/runner-client.ts";
import { readTail } from "../../lib/plain-file.ts";
import { accountRoster, type AttemptFiles } from "./command-files.ts";
import { type CommandRun, type LiveRun, notStartedForDisk, type RunOutcome, type RunState } from "./executor.ts";
import { sizeOf } from "./run-log.ts";

/** The limits that the runners of this node enforce. */
export interface RunnerOptions {
  readonly dataDir: string;
  /** Null: no other node shares the database. */
  readonly leaseFile: string | null;
  readonly leaseSeconds: number;
  readonly checkSeconds: number;
  readonly logLimitBytes: number;
  readonly allowance: Allowance;
}

/** How often progress is read and the runner is checked. A new status is noticed at once. */
const POLL_INTERVAL_MS = 1000;
/** How much of the end of a log is searched for the reason of a failure. */
const LOG_TAIL_BYTES = 128 * 1024;
export const GRACE_SECONDS = 10;
/** A runner that has not reacted to a cancel by then is killed. */
const CANCEL_PATIENCE_MS = (GRACE_SECONDS + 10) * 1000;

/** The last step that lets the process begin its work. */
export type PreparedProcess =
  | { readonly kind: "program"; readonly program: ProgramToRun; readonly limits: RunLimits }
  | { readonly kind: "order"; readonly order: Order };

/** `outputFile`: null for `output` in the attempt's folder. */
export function runLimitsOf(
  run: CommandRun,
  options: Omit<RunnerOptions, "allowance">,
  resources: ResourceLimits,
  outputFile: string | null = null,
): RunLimits {
  return {
    outputFile,
    logFile: null,
    logLimitBytes: options.logLimitBytes,
    timeoutSeconds: run.timeoutSeconds,
    checkSeconds: options.checkSeconds,
    elapsedSeconds: run.elapsedSeconds,
    graceSeconds: GRACE_SECONDS,
    leaseFile: options.leaseFile,
    leaseSeconds: options.leaseSeconds,
    rosterFolder: accountRoster(options.dataDir, run.command.accountId),
    orphan: null,
    resources,
  };
}

/** A process under a detached runner, which survives the server. */
export class RunnerRun implements LiveRun {
  readonly handle: unknown;
  readonly #files: AttemptFiles;
  readonly #readProgress: () => Promise<number>;
  readonly #client: RunnerClient;
  readonly #prepared: PreparedProcess | undefined;
  readonly #describeFailure: DescribeFailure;
  /** The runner that this process has started. It may end before it has marked the folder. */
  #runner: ProcessHandle | undefined;
  #seen: RunView["state"] | undefined;
  #endCause: EndCause | null = null;

  /** `readProgress`: in percent, while the process runs. Without `prepared`, the run is adopted. */
  constructor(
    files: AttemptFiles,
    readProgress: () => Promise<number>,
    prepared: PreparedProcess | undefined,
    describeFailure: DescribeFailure = byExitCode,
  ) {
    this.handle = { kind: "runner", folder: files.folder };
    this.#files = files;
    this.#readProgress = readProgress;
    this.#client = openRunnerClient(files.folder);
    this.#prepared = prepared;
    this.#describeFailure = describeFailure;
  }

  async begin(): Promise<void> {
    const prepared = this.#prepared;
    if (prepared?.kind === "order") this.#client.order(prepared.order);
    if (prepared?.kind === "program") this.#runner = await this.#client.start(prepared.program, prepared.limits);
  }

  async poll(): Promise<RunState> {
    const view = await this.#client.observe();
    this.#seen = view.state;
    switch (view.state) {
      case "absent":
        return this.#pollAbsent();
      case "abandoned":
        return { state: "never-began" };
      case "waiting": // the server that prepared it has ended without giving the order
        return this.#client.abandon() ? { state: "never-began" } : this.poll();
      case "starting":
        return { state: "running", pid: null, progress: 0 };
      case "running": {
        const progress = await this.#readProgress();
        return { state: "running", pid: view.status.driver?.pid ?? null, progress };
      }
      case "ended":
        return view.status.cause === "unused" ? { state: "never-began" } : this.#outcomeOf(view.status);
      case "lost":
        return view.mayHaveRun ? { state: "lost", cause: "its runner was ended from outside" } : this.#neverBegan();
    }
  }

  /** A runner of this process may still mark the folder. Without one, the folder is marked as abandoned. */
  async #pollAbsent(): Promise<RunState> {
    if (this.#runner !== undefined && (await findProcess(this.#runner)) === "running") {
      return { state: "running", pid: null, progress: 0 };
    }
    return this.#client.abandon() ? this.#neverBegan() : this.poll();
  }

  /** On a full disk a runner cannot report why it ended. */
  #neverBegan(): RunOutcome {
    return this.#runner !== undefined && isFilesystemFull(this.#files.folder)
      ? notStartedForDisk
      : { state: "never-began" };
  }

  async changed(signal: AbortSignal): Promise<void> {
    await this.#client.waitForChange(this.#seen, AbortSignal.any([signal, AbortSignal.timeout(POLL_INTERVAL_MS)]));
  }

  async stop(): Promise<void> {
    if (this.#client.abandon()) return;
    await this.#client.cancel();
    const view = await this.#client.waitForEnd(AbortSignal.timeout(CANCEL_PATIENCE_MS));
    if (!isOver(view)) await this.#client.kill();
  }

  /** Why it ended; null: it runs, or was lost. */
  get endCause(): EndCause | null {
    return this.#endCause;
  }

  async #outcomeOf(status: RunStatus): Promise<RunOutcome> {
    this.#endCause = status.cause;
    const [outputBytes, logBytes] = await Promise.all([sizeOf(this.#files.output), sizeOf(this.#files.log)]);
    const end = hasFailedItself(status) ? await this.#failureOf(status) : endOf(status);
    return { state: "ended", ...end, exitCode: status.exitCode, outputBytes, logBytes };
  }

  async #failureOf({ exitCode, startedAt }: RunStatus & { readonly exitCode: number }): Promise<End> {
    // A log that cannot be read must not keep a run from ending.
    const logTail = await readTail(this.#files.log, LOG_TAIL_BYTES).catch(() => "");
    return { kind: "failed", cause: this.#describeFailure(exitCode, logTail, startedAt) };
  }
}

/**
 * Says in one line why a process ended with this code, by the end of its log. `startedAt`: in ISO 8601; null: unknown.
 */
export type DescribeFailure = (exitCode: number, logTail: string, startedAt: string | null) => string;

export const byExitCode: DescribeFailure = (exitCode) => `exit code ${exitCode}`;

/** It ended with an exit code other than 0, and the runner knows nothing more about it. */
function hasFailedItself(status: RunStatus): status is RunStatus & { readonly exitCode: number } {
  const { cause, exitCode, message } = status;
  return (cause === "exited" || cause === null) && exitCode !== null && exitCode !== 0 && message === null;
}

type End = Pick<Extract<RunOutcome, { state: "ended" }>, "kind" | "cause">;

function endOf({ cause, exitCode, signal, message }: RunStatus): End {
  switch (cause) {
    case "timeout":
      return { kind: "timed-out", cause: message ?? "timed out" };
    case "cancelled":
      return { kind: "cancelled", cause: "cancelled" };
    case "disk-full":
      return { kind: "disk-full", cause: `the disk is full: ${message ?? "its output could not be stored"}` };
    case "limit":
      return { kind: "failed", cause: message ?? "it exceeded a limit" };
    case "unused": // and so has no end of its own
    case "spawn-failed":
    case "lease-lost":
    case "stopped":
      return { kind: "failed", cause: message ?? `its runner ended it (${cause})` };
    case "exited":
    case null:
      if (exitCode === 0) return { kind: "succeeded", cause: null };
      return failed(signal === null ? `exit code ${exitCode}` : `ended by the signal ${signal}`, message);
  }
}

/** A runner adds a message to a program that ended by itself only if the disk was full. */
function failed(cause: string, message: string | null): End {
  return message === null ? { kind: "failed", cause } : { kind: "disk-full", cause: `${cause}: ${message}` };
}
