import { existsSync } from "node:fs";
import { join } from "node:path";
import { limitsWithin, type Allowance } from "../../engines/runner/allowance.ts";
import type { OrphanTerms } from "../../engines/runner/protocol.ts";
import { openRunnerClient, type RunLimits } from "../../engines/runner/runner-client.ts";
import { writeInput } from "../../engines/sandbox/confined-folders.ts";
import type { Sandbox } from "../../engines/sandbox/sandbox.ts";
import { ProcessFolders } from "../../engines/supervisor/process-folders.ts";
import { Supervised } from "../../engines/supervisor/supervised.ts";
import type { Log } from "../../lib/log.ts";
import { removeTree } from "../../lib/remove-tree.ts";
import type { PlacedProcess, SparkPlace } from "../warm/spark-place.ts";
import { accountIdentity, accountRoster, makeStandby } from "./attempt-folders.ts";
import { confineProgram, placeInside } from "./confine-program.ts";
import type { StandbyProgram } from "./program-driver.ts";

export interface StandbyDriverOptions {
  readonly dataDir: string;
  readonly sandbox: Sandbox;
  readonly limits: Pick<RunLimits, "leaseFile" | "leaseSeconds" | "logLimitBytes" | "graceSeconds" | "checkSeconds">;
  readonly allowance: Allowance;
  /** Null: after its server has gone, a driver stays until its time is over. */
  readonly orphan: OrphanTerms | null;
  readonly log: Log;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

const WAIT_SECONDS = 3600;
const END_PATIENCE_MS = 5000;

/** Its folder is laid out as an attempt is, with the runner's files in it; it has no record. */
export function standbyFolders(dataDir: string): ProcessFolders<never> {
  return new ProcessFolders(join(dataDir, "accounts"), "standby");
}

/** One driver that waits for a program. */
export class StandbyDriver extends Supervised<SparkPlace> implements PlacedProcess {
  readonly place: SparkPlace;
  readonly generation: number;
  readonly folder: string;
  readonly ready: Promise<unknown>;
  readonly #options: StandbyDriverOptions;
  readonly #startedAt: number;

  constructor(place: SparkPlace, folder: string, program: StandbyProgram, options: StandbyDriverOptions) {
    super(place, program.digest, program.memoryMiB);
    this.place = place;
    this.generation = program.generation ?? 0;
    this.folder = folder;
    this.#options = options;
    this.#startedAt = options.now();
    this.ready = this.#start(program);
  }

  async #start(program: StandbyProgram): Promise<void> {
    const { dataDir, sandbox, limits, allowance, orphan } = this.#options;
    const { accountId } = this.place;
    const identity = accountIdentity(accountId);
    const inside = placeInside(sandbox, this.folder);
    const folders = await makeStandby(this.folder, { accountId, identity, home: inside.work });
    await writeInput(folders.input, program.files, identity);
    const resources = limitsWithin(allowance, program.memoryMiB);
    const runLimits: RunLimits = {
      ...limits,
      outputFile: null,
      logFile: null,
      timeoutSeconds: null,
      elapsedSeconds: 0,
      orphan: orphan === null ? null : { ...orphan, busyFile: null, usersFolder: null },
      rosterFolder: accountRoster(dataDir, accountId),
      resources,
    };
    const confined = confineProgram(sandbox, program, { folders, inside, identity, resources });
    const standby = { greeting: program.greeting, waitSeconds: WAIT_SECONDS };
    await openRunnerClient(this.folder).start(confined, runLimits, standby);
  }

  /** Whether a program that is handed over now begins at once. */
  async isWaiting(): Promise<boolean> {
    const view = await openRunnerClient(this.folder)
      .observe()
      .catch(() => undefined); // `ended` reports the reason
    return view?.state === "waiting" && view.isReady;
  }

  get hasWaitedFully(): boolean {
    return this.#options.now() - this.#startedAt >= WAIT_SECONDS * 1000;
  }

  /** One whose state cannot be read counts as ended. */
  async ended(signal: AbortSignal): Promise<void> {
    try {
      await openRunnerClient(this.folder).waitForEnd(signal);
    } catch (error) {
      const { place } = this;
      if (!signal.aborted)
        this.#options.log.warn({ err: error, place }, "a driver that waits could not be looked after");
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
  client.forsake();
  if (!(await client.untilGone(AbortSignal.timeout(END_PATIENCE_MS)))) await client.kill();
  await removeTree(folder);
}

/** Returns how many standby drivers of the account were starting or waiting. */
export async function endStandbysOf(dataDir: string, accountId: number): Promise<number> {
  return standbyFolders(dataDir).end(accountId, (path) => ({
    async isAlive() {
      const view = await openRunnerClient(path)
        .observe()
        .catch(() => undefined); // its status may be unreadable
      return view?.state === "starting" || view?.state === "waiting";
    },
    stop: () => endStandby(path),
  }));
}
