import { findProcess, type ProcessHandle } from "../../engines/detached-process/process-handle.ts";
import { isFull } from "../../engines/runner/free-room.ts";
import type { RunStatus } from "../../engines/runner/protocol.ts";
import {
  openRunnerClient,
  type ProgramToRun,
  type RunLimits,
  type RunnerClient,
  type RunView,
} from "../../engines/runner/runner-client.ts";
import type { Sandbox } from "../../engines/sandbox/sandbox.ts";
import type { AttemptFiles } from "../command-files.ts";
import { checkMayRunPrograms, type ProgramIsolation } from "../program-isolation.ts";
import { accountIdentity, makeAttempt, tidyAttempt, writeInput } from "./attempt-folders.ts";
import type { Executor, LiveRun, PreparedRun, Run, RunOutcome, RunState } from "./executor.ts";
import type { ProgramDriver } from "./program-driver.ts";
import { notStartedForDisk, sizeOf } from "./run-log.ts";

export interface ProgramExecutorOptions {
  readonly driver: ProgramDriver;
  readonly sandbox: Sandbox;
  readonly isolation: ProgramIsolation;
  /** Null: this node shares its database with nobody. */
  readonly leaseFile: string | null;
  readonly leaseSeconds: number;
  readonly checkSeconds: number;
  readonly logLimitBytes: number;
}

const LOOK_EVERY_MS = 1000;
/** Until its pid is known; the end of a run is noticed at once. */
const LOOK_AT_FIRST_MS = 50;
const GRACE_SECONDS = 10;
/** A runner that has not answered a cancel by then never will. */
const CANCEL_PATIENCE_MS = (GRACE_SECONDS + 10) * 1000;

/**
 * Programs, by a detached runner. A program runs at most once per folder, whoever tries: so the stored handle is the
 * attempt's folder, stored before a runner is started for it, and the runner's own mark in the folder says who has it.
 */
export function programExecutor(options: ProgramExecutorOptions): Executor {
  return {
    unready: () => options.driver.unready(),
    memoryMiB: (command) => options.driver.memoryMiB(command),
    async prepare(run): Promise<PreparedRun> {
      const program = await confinedProgram(run, options);
      return {
        spawn: () => Promise.resolve(new RunnerRun(run.files, options, { program, limits: limitsOf(run, options) })),
      };
    },
    tidy: (run) => tidyAttempt(run.files),
    adopt: (run) => Promise.resolve(new RunnerRun(run.files, options, undefined)),
  };
}

async function confinedProgram(run: Run, options: ProgramExecutorOptions): Promise<ProgramToRun> {
  const { driver, sandbox } = options;
  const { accountId } = run.command;
  await checkMayRunPrograms(options.isolation, accountId);
  const identity = accountIdentity(accountId);
  const folders = await makeAttempt(run.files, accountId, identity);
  const { work, input, events } = folders;
  const place = { work, input, eventLogFolder: events, applicationId: run.files.applicationId };
  const { argv, env, files, readOnly } = await driver.commandLine(run, place);
  await writeInput(input, files, identity);
  return sandbox.confine({
    argv,
    env,
    cwd: work,
    readOnly: [...readOnly, input],
    writable: [work, events, folders.storage],
    tmpFolder: folders.tmp,
    userFolder: folders.user,
    identity,
  });
}

function limitsOf(run: Run, options: ProgramExecutorOptions): RunLimits {
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
  };
}

interface Prepared {
  readonly program: ProgramToRun;
  readonly limits: RunLimits;
}

class RunnerRun implements LiveRun {
  readonly handle: unknown;
  readonly #files: AttemptFiles;
  readonly #readProgress: () => Promise<number>;
  readonly #client: RunnerClient;
  readonly #prepared: Prepared | undefined;
  /** Of the runner we started ourselves: it may be gone before it has left its mark. */
  #runner: ProcessHandle | undefined;
  #isSeenRunning = false;

  /** Without `prepared`: an adopted one. */
  constructor(files: AttemptFiles, { driver }: ProgramExecutorOptions, prepared: Prepared | undefined) {
    this.handle = { kind: "runner", folder: files.folder };
    this.#files = files;
    this.#readProgress = driver.followProgress(files);
    this.#client = openRunnerClient(files.folder);
    this.#prepared = prepared;
  }

  async begin(): Promise<void> {
    if (this.#prepared === undefined) return;
    this.#runner = await this.#client.start(this.#prepared.program, this.#prepared.limits);
  }

  async look(): Promise<RunState> {
    const view = await this.#client.observe();
    switch (view.state) {
      case "absent":
        return this.#lookAtAbsent();
      case "forsaken":
        return { state: "never-began" };
      case "starting":
        return { state: "running", pid: null, progress: 0 };
      case "running": {
        this.#isSeenRunning = true;
        const progress = await this.#readProgress();
        return { state: "running", pid: view.status.driver?.pid ?? null, progress };
      }
      case "ended":
        return this.#outcomeOf(view.status);
      case "lost":
        return view.mayHaveRun ? { state: "lost", cause: "its runner was ended from outside" } : this.#neverBegan();
    }
  }

  /** Our own runner is on its way to the folder; any other that is, comes too late. */
  async #lookAtAbsent(): Promise<RunState> {
    if (this.#runner !== undefined && (await findProcess(this.#runner)) === "running") {
      return { state: "running", pid: null, progress: 0 };
    }
    return this.#client.forsake() ? this.#neverBegan() : this.look();
  }

  /** A runner that cannot write into its folder can tell nobody. */
  #neverBegan(): RunOutcome {
    return this.#runner !== undefined && isFull(this.#files.folder) ? notStartedForDisk : { state: "never-began" };
  }

  async changed(signal: AbortSignal): Promise<void> {
    const timeout = AbortSignal.timeout(this.#isSeenRunning ? LOOK_EVERY_MS : LOOK_AT_FIRST_MS);
    await this.#client.waitForEnd(AbortSignal.any([signal, timeout]));
  }

  async stop(): Promise<void> {
    if (this.#client.forsake()) return;
    await this.#client.cancel();
    const view = await this.#client.waitForEnd(AbortSignal.timeout(CANCEL_PATIENCE_MS));
    if (!isOver(view)) await this.#client.kill();
  }

  async #outcomeOf(status: RunStatus): Promise<RunOutcome> {
    const [outputBytes, logBytes] = await Promise.all([sizeOf(this.#files.output), sizeOf(this.#files.log)]);
    return { state: "ended", ...endOf(status), exitCode: status.exitCode, outputBytes, logBytes };
  }
}

function isOver({ state }: RunView): boolean {
  return state === "ended" || state === "lost" || state === "forsaken";
}

type End = Pick<Extract<RunOutcome, { state: "ended" }>, "kind" | "cause">;

function endOf({ cause, exitCode, signal, message }: RunStatus): End {
  switch (cause) {
    case "timeout":
      return { kind: "timed-out", cause: message ?? "timed out" };
    case "cancelled":
      return { kind: "cancelled", cause: "cancelled" };
    case "disk-full":
      return { kind: "disk-full", cause: `the disk is full: ${message ?? "its output could not be kept"}` };
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

/** The message of one that ended by itself tells in which need it did. */
function failed(cause: string, message: string | null): End {
  return message === null ? { kind: "failed", cause } : { kind: "disk-full", cause: `${cause}: ${message}` };
}
