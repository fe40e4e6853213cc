import { existsSync } from "node:fs";
import { findProcess, type ProcessHandle } from "../../engines/detached-process/detached-process.ts";
import { limitsWithin, type Allowance } from "../../engines/runner/allowance.ts";
import { isFilesystemFull } from "../../engines/runner/disk-full.ts";
import type { Order, ResourceLimits, RunStatus } from "../../engines/runner/protocol.ts";
import {
  isOver,
  openRunnerClient,
  type ProgramToRun,
  type RunLimits,
  type RunnerClient,
  type RunView,
} from "../../engines/runner/runner-client.ts";
import { writeInput } from "../../engines/sandbox/confined-folders.ts";
import type { Sandbox } from "../../engines/sandbox/sandbox.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import {
  type AttemptFiles,
  accountIdentity,
  accountRoster,
  makeAttempt,
  programFolders,
  tidyAttempt,
} from "../execution/command-files.ts";
import { confineProgram, foldersInside, type ProgramDriver } from "./program-driver.ts";
import {
  type Executor,
  type LiveRun,
  type PreparedRun,
  type CommandRun,
  type RunOutcome,
  type RunState,
  notStartedForDisk,
} from "../execution/executor.ts";
import { sizeOf, writeNotes } from "../execution/run-log.ts";
import type { StandbyDrivers } from "./standby-drivers.ts";

export interface ProgramExecutorOptions {
  readonly dataDir: string;
  readonly driver: ProgramDriver;
  readonly sandbox: Sandbox;
  readonly standbys: StandbyDrivers;
  /** Null: no other node shares the database. */
  readonly leaseFile: string | null;
  readonly leaseSeconds: number;
  readonly checkSeconds: number;
  readonly logLimitBytes: number;
  readonly allowance: Allowance;
}

/** How often progress is read and the runner is checked. A new status is noticed at once. */
const POLL_INTERVAL_MS = 1000;
export const GRACE_SECONDS = 10;
/** A runner that has not reacted to a cancel by then is killed. */
const CANCEL_PATIENCE_MS = (GRACE_SECONDS + 10) * 1000;

/**
 * Runs programs under detached runners. A program runs at most once in its folder: the stored handle is the folder of the
 * attempt, stored before a runner is started, and a runner marks the folder as its own before it starts the program. If a
 * standby driver can run the program, its folder becomes that of the attempt, with the runner in it; the runner accepts one
 * order, and the program runs if the order was given.
 */
export function programExecutor(options: ProgramExecutorOptions): Executor {
  const { standbys } = options;
  return {
    unready: () => options.driver.unready(),
    async prepare(run, signal): Promise<PreparedRun> {
      const prepared = await prepareProgram(run, options, signal);
      return { spawn: () => Promise.resolve(new RunnerRun(run, options, prepared)) };
    },
    async tidy(run) {
      // A standby driver may still wait there, if the claim was never begun.
      if (existsSync(run.files.folder)) openRunnerClient(run.files.folder).abandon();
      await tidyAttempt(run.files);
      standbys.noteEnd(run.command);
    },
    adopt: (run) => Promise.resolve(new RunnerRun(run, options, undefined)),
  };
}

/** The last step that lets the program begin. */
type Prepared =
  | { readonly kind: "program"; readonly program: ProgramToRun; readonly limits: RunLimits }
  | { readonly kind: "order"; readonly order: Order };

async function prepareProgram(
  run: CommandRun,
  options: ProgramExecutorOptions,
  signal: AbortSignal,
): Promise<Prepared> {
  const { driver, sandbox, standbys } = options;
  const { accountId } = run.command;
  const { folder, applicationId } = run.files;
  const inside = foldersInside(sandbox, folder);
  // This may start a metastore, and writes nothing into the attempt's folder.
  const program = await unlessAborted(signal, driver.commandLine(run, { ...inside, applicationId }));
  const identity = accountIdentity(accountId);
  const memoryMiB = program.memoryMiB ?? driver.memoryMiB(run.command);
  const resources = limitsWithin(options.allowance, memoryMiB);
  const limits = limitsOf(run, options, resources);
  // A running process can only be given to an attempt where a sandbox hides which folder that is.
  const handOver = sandbox.kind === "bubblewrap" ? program.handOver : undefined;
  if (handOver !== undefined && (await standbys.take(run.command, handOver.digest, folder, handOver.generation))) {
    await writeInput(programFolders(folder).input, program.files, identity);
    await writeNotes(run.files, program.notes);
    const { timeoutSeconds, checkSeconds, elapsedSeconds } = limits;
    const { input } = handOver;
    return { kind: "order", order: { input, timeoutSeconds, checkSeconds, elapsedSeconds } };
  }
  const folders = await makeAttempt(folder, { accountId, identity, home: inside.work });
  await writeInput(folders.input, program.files, identity);
  await writeNotes(run.files, program.notes);
  const confined = { folders, inside, identity, resources };
  return { kind: "program", program: confineProgram(sandbox, program, confined), limits };
}

function limitsOf(run: CommandRun, options: ProgramExecutorOptions, resources: ResourceLimits): RunLimits {
  return {
    outputFile: null,
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

class RunnerRun implements LiveRun {
  readonly handle: unknown;
  readonly #files: AttemptFiles;
  readonly #readProgress: () => Promise<number>;
  readonly #client: RunnerClient;
  readonly #prepared: Prepared | undefined;
  /** The runner that this process has started. It may end before it has marked the folder. */
  #runner: ProcessHandle | undefined;
  #seen: RunView["state"] | undefined;

  /** Without `prepared`, the run is adopted. */
  constructor({ files, command }: CommandRun, { driver }: ProgramExecutorOptions, prepared: Prepared | undefined) {
    this.handle = { kind: "runner", folder: files.folder };
    this.#files = files;
    this.#readProgress = driver.followProgress(files, command.accountId);
    this.#client = openRunnerClient(files.folder);
    this.#prepared = prepared;
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

  async #outcomeOf(status: RunStatus): Promise<RunOutcome> {
    const [outputBytes, logBytes] = await Promise.all([sizeOf(this.#files.output), sizeOf(this.#files.log)]);
    return { state: "ended", ...endOf(status), exitCode: status.exitCode, outputBytes, logBytes };
  }
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
