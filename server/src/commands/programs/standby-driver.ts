import { existsSync } from "node:fs";
import { join } from "node:path";
import { limitsWithin, type Allowance } from "../../processes/runner/allowance.ts";
import type { OrphanTerms } from "../../processes/runner/protocol.ts";
import { openRunnerClient, type RunLimits, type RunView } from "../../processes/runner/runner-client.ts";
import { writeInput } from "../../processes/sandbox/confined-folders.ts";
import type { Sandbox } from "../../processes/sandbox/sandbox.ts";
import { ProcessFolders, type LeftoverProcess } from "../../processes/supervisor/process-folders.ts";
import { Supervised } from "../../processes/supervisor/supervisor.ts";
import type { Log } from "../../lib/log.ts";
import { removeTree } from "../../processes/tree-removal/remove-tree.ts";
import type { SparkScope } from "../execution/spark-scope.ts";
import { accountIdentity, accountRoster, makeStandby } from "../execution/command-files.ts";
import { confineRun, foldersInside } from "../execution/confine-run.ts";
import type { StandbyLaunch } from "./program-driver.ts";

export interface StandbyDriverOptions {
  readonly dataDir: string;
  readonly sandbox: Sandbox;
  readonly limits: Pick<RunLimits, "leaseFile" | "leaseSeconds" | "logLimitBytes" | "graceSeconds" | "checkSeconds">;
  readonly allowance: Allowance;
  /** Null: without its server, a driver waits until its time is over. */
  readonly orphan: OrphanTerms | null;
  readonly log: Log;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

const WAIT_SECONDS = 3600;
const END_PATIENCE_MS = 5000;

/** Each folder has the layout of an attempt, with the files of the runner, and no record. */
export function standbyFolders(dataDir: string): ProcessFolders<never> {
  return new ProcessFolders(join(dataDir, "accounts"), "standby");
}

/** A driver that waits for a program. */
export class StandbyDriver extends Supervised<SparkScope> {
  readonly generation: number;
  readonly folder: string;
  readonly ready: Promise<unknown>;
  readonly #options: StandbyDriverOptions;
  readonly #startedAt: number;

  constructor(scope: SparkScope, folder: string, program: StandbyLaunch, options: StandbyDriverOptions) {
    super(scope, program.digest, program.memoryMiB);
    this.generation = program.generation ?? 0;
    this.folder = folder;
    this.#options = options;
    this.#startedAt = options.now();
    this.ready = this.#start(program);
  }

  async #start(program: StandbyLaunch): Promise<void> {
    const { dataDir, sandbox, limits, allowance, orphan } = this.#options;
    const { accountId } = this.key;
    const identity = accountIdentity(accountId);
    const inside = foldersInside(sandbox, this.folder);
    const folders = await makeStandby(this.folder, { accountId, identity, home: inside.work });
    await writeInput(folders.input, program.files, identity);
    const resources = limitsWithin(allowance, program.memoryMiB);
    const untimed = { outputFile: null, logFile: null, timeoutSeconds: null, elapsedSeconds: 0 };
    const orphanRule = orphan === null ? null : { ...orphan, busyFile: null, usersFolder: null };
    const rosterFolder = accountRoster(dataDir, accountId);
    await openRunnerClient(this.folder).start(
      confineRun(sandbox, program, { folders, inside, identity, resources }),
      { ...limits, ...untimed, orphan: orphanRule, rosterFolder, resources },
      { greeting: program.greeting, waitSeconds: WAIT_SECONDS },
    );
  }

  /** Whether it is ready to run a program at once. */
  async isWaiting(): Promise<boolean> {
    const view = await observe(this.folder);
    return view?.state === "waiting" && view.isReady;
  }

  get hasWaitedFully(): boolean {
    return this.#options.now() - this.#startedAt >= WAIT_SECONDS * 1000;
  }

  /** Also settles when its state cannot be read: it is then ended, which costs no more than another start. */
  async ended(signal: AbortSignal): Promise<void> {
    try {
      await openRunnerClient(this.folder).waitForEnd(signal);
    } catch (error) {
      const fields = { err: error, place: this.key };
      if (!signal.aborted) this.#options.log.warn(fields, "the status of a standby driver cannot be read");
    }
  }

  async stop(): Promise<void> {
    await this.ready.catch(() => undefined);
    await endStandby(this.folder);
  }
}

/** Settles when the process and its folder are gone. */
export async function endStandby(folder: string): Promise<void> {
  if (!existsSync(folder)) return;
  const client = openRunnerClient(folder);
  client.abandon();
  if (!(await client.waitUntilGone(AbortSignal.timeout(END_PATIENCE_MS)))) await client.kill();
  await removeTree(folder);
}

/** Ends the standby drivers of an account or of all. Returns how many were starting or waiting. */
export async function endStandbys(dataDir: string, accountId?: number): Promise<number> {
  const open = (path: string): LeftoverProcess => ({
    isAlive: async () => ["starting", "waiting"].includes((await observe(path))?.state ?? ""),
    stop: () => endStandby(path),
  });
  return standbyFolders(dataDir).end(open, accountId);
}

/** Undefined: its status cannot be read. */
async function observe(folder: string): Promise<RunView | undefined> {
  const client = openRunnerClient(folder);
  return client.observe().catch(() => undefined);
}
