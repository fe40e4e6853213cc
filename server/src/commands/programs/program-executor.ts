import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { limitsWithin } from "../../processes/runner/allowance.ts";
import { openRunnerClient } from "../../processes/runner/runner-client.ts";
import { writeInput } from "../../processes/sandbox/confined-folders.ts";
import type { Sandbox } from "../../processes/sandbox/sandbox.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import { accountIdentity, makeAttempt, programFolders, tidyAttempt } from "../execution/command-files.ts";
import { confineRun, foldersInside } from "../execution/confine-run.ts";
import { explainHiddenPath } from "../execution/hidden-path.ts";
import type { CommandRun, Executor, PreparedRun } from "../execution/executor.ts";
import { writeNotes } from "../execution/run-log.ts";
import {
  byExitCode,
  type PreparedProcess,
  RunnerRun,
  type RunnerOptions,
  runLimitsOf,
} from "../execution/runner-run.ts";
import type { ProgramDriver } from "./program-driver.ts";
import type { StandbyDrivers } from "./standby-drivers.ts";

export interface ProgramExecutorOptions extends RunnerOptions {
  readonly driver: ProgramDriver;
  readonly sandbox: Sandbox;
  readonly standbys: StandbyDrivers;
}

/**
 * Runs programs under detached runners. A program runs at most once in its folder: the stored handle is the folder of the
 * attempt, stored before a runner is started, and a runner marks the folder as its own before it starts the program. If a
 * standby driver can run the program, its folder becomes that of the attempt, with the runner in it; the runner accepts one
 * order, and the program runs if the order was given.
 */
export function programExecutor(options: ProgramExecutorOptions): Executor {
  const { driver, sandbox, standbys } = options;
  const { describeFailure = byExitCode } = driver;
  const runOf = ({ files, command }: CommandRun, prepared: PreparedProcess | undefined): RunnerRun =>
    new RunnerRun(files, driver.followProgress(files, command.accountId), prepared, (exitCode, logTail, startedAt) =>
      explainHiddenPath(describeFailure(exitCode, logTail, startedAt), sandbox, files),
    );
  return {
    unready: () => driver.unready(),
    async prepare(run, signal): Promise<PreparedRun> {
      const prepared = await prepareProgram(run, options, signal);
      return { spawn: () => Promise.resolve(runOf(run, prepared)) };
    },
    async tidy(run) {
      // A standby driver may still wait there, if the claim was never begun.
      if (existsSync(run.files.folder)) openRunnerClient(run.files.folder).abandon();
      await tidyAttempt(run.files);
      standbys.noteEnd(run.command);
    },
    adopt: (run) => Promise.resolve(runOf(run, undefined)),
  };
}

async function prepareProgram(
  run: CommandRun,
  options: ProgramExecutorOptions,
  signal: AbortSignal,
): Promise<PreparedProcess> {
  const { driver, sandbox, standbys } = options;
  const { accountId } = run.command;
  const { folder, applicationId } = run.files;
  const inside = foldersInside(sandbox, folder);
  const waits = new WaitNotes(run.files);
  let program;
  try {
    // This may start a metastore or wait for a download.
    const commandLine = driver.commandLine(run, { ...inside, applicationId }, (text) => waits.add(text));
    program = await unlessAborted(signal, commandLine);
  } finally {
    await waits.close();
  }
  const notes = [...waits.texts, ...(program.notes ?? [])];
  const identity = accountIdentity(accountId);
  const memoryMiB = program.memoryMiB ?? driver.memoryMiB(run.command);
  const resources = limitsWithin(options.allowance, memoryMiB);
  const limits = runLimitsOf(run, options, resources);
  // A running process can only be given to an attempt where a sandbox hides which folder that is.
  const handOver = sandbox.kind === "bubblewrap" ? program.handOver : undefined;
  if (handOver !== undefined && (await standbys.take(run.command, handOver.digest, folder, handOver.generation))) {
    await writeInput(programFolders(folder).input, program.files, identity);
    await writeNotes(run.files, notes);
    const { timeoutSeconds, checkSeconds, elapsedSeconds } = limits;
    const { input } = handOver;
    return { kind: "order", order: { input, timeoutSeconds, checkSeconds, elapsedSeconds } };
  }
  const folders = await makeAttempt(folder, { accountId, identity, home: inside.work });
  await writeInput(folders.input, program.files, identity);
  await writeNotes(run.files, notes);
  const confined = { folders, inside, identity, resources };
  return { kind: "program", program: confineRun(sandbox, program, confined), limits };
}

/** Shows in the log of a program what it waits for. The folder of the attempt, which is made later, replaces that log. */
class WaitNotes {
  readonly texts: string[] = [];
  readonly #files: CommandRun["files"];
  #written: Promise<void> | undefined = Promise.resolve();

  constructor(files: CommandRun["files"]) {
    this.#files = files;
  }

  add(text: string): void {
    this.texts.push(text);
    this.#written = this.#written?.then(() => this.#write(text)).catch(() => undefined);
  }

  /** Afterwards nothing is written. */
  async close(): Promise<void> {
    const written = this.#written;
    this.#written = undefined;
    await written;
  }

  async #write(text: string): Promise<void> {
    await mkdir(this.#files.folder, { recursive: true, mode: 0o711 });
    await writeNotes(this.#files, [text]);
  }
}
