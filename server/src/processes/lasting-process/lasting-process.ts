/**
 * A process that outlives our server. It runs under a runner in a sandbox, and its whole state is in its folder, so that
 * our server finds it again after a restart.
 *
 *   run/                      status and log, written by the runner
 *   input/ work/ tmp/ user/   the folders that the process sees
 *
 * Subclasses define the program, its address and how it reports that it is ready.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Fault } from "../../lib/fault.ts";
import { removeTreeSoon } from "../tree-removal/remove-tree.ts";
import { findProcess } from "../detached-process/detached-process.ts";
import { sandboxLimits, limitsWithin, type Allowance } from "../runner/allowance.ts";
import type { OrphanTerms, ResourceLimits } from "../runner/protocol.ts";
import { openRunnerClient, type RunnerClient } from "../runner/runner-client.ts";
import { makeConfinedFolders, makeOwnedFolder, writeInput, type ConfinedFolders } from "../sandbox/confined-folders.ts";
import type { Identity } from "../sandbox/confined-program.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";

/** The settings that all lasting processes of a node share. */
export interface LastingTerms {
  readonly sandbox: Sandbox;
  /** Null: the process does not depend on the node's database lease. */
  readonly leaseFile: string | null;
  readonly leaseSeconds: number;
  /** When the process ends after our server is gone. Null: never. */
  readonly orphan: OrphanTerms | null;
  /** Unlimited resources if absent. */
  readonly allowance?: Allowance;
}

export interface LastingPlan extends LastingTerms {
  readonly identity: Identity | undefined;
  /** Name of the user inside the sandbox. */
  readonly userName: string;
  /** Number of parent folders that the user must be able to traverse. */
  readonly levels: number;
  /** The roster (`runner/roster.ts`) that lists the process while it is busy. */
  readonly rosterFolder: string | null;
  /** The roster of the processes that need this one. Null: the process itself reports whether it is busy. */
  readonly usersFolder: string | null;
  readonly memoryMiB: number;
}

export interface LastingProgram {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Contents of the files in `input`, by name. They may contain secrets. */
  readonly files: Readonly<Record<string, string>>;
  /** Contents of files in `work`, by name, which the program removes when it has read them. */
  readonly startFiles?: Readonly<Record<string, string>>;
  /** Paths outside its own folders that it needs. */
  readonly readOnly: readonly string[];
  readonly writable: readonly string[];
  readonly logLimitBytes: number;
  /** The file that the program creates while it is busy; undefined if it does not report that. */
  readonly busyFile?: string;
}

const GRACE_SECONDS = 5;
const START_LIMIT_MS = 180_000;
const POLL_MS = 50;
const RECHECK_MS = 60_000;

export interface StartingProcess {
  /** For error messages. */
  readonly name: string;
  /** Returns why the process ended. */
  readonly explain: () => Promise<string>;
  /** Undefined: `START_LIMIT_MS`. */
  readonly startLimitMs?: number | undefined;
}

export class LastingProcess {
  readonly folder: string;
  readonly #client: RunnerClient;
  #isStartedHere = false;
  #isStopped = false;

  /** The process of that folder, running or not. */
  constructor(folder: string) {
    this.folder = folder;
    this.#client = openRunnerClient(join(folder, "run"));
  }

  /** Output of the process and its runner. */
  protected get logFile(): string {
    return join(this.folder, "run", "log");
  }

  /** Must be called once per folder. Resolves when the runner is started; `waitUntilReady` waits for the process. */
  protected async launch(plan: LastingPlan, programIn: (folders: ConfinedFolders) => LastingProgram): Promise<void> {
    const { sandbox, identity, userName: name, levels, usersFolder, leaseFile, leaseSeconds, rosterFolder } = plan;
    this.#isStartedHere = true;
    const folders = await makeConfinedFolders(this.folder, { name, identity, levels });
    const program = programIn(folders);
    const { argv, env, files, startFiles = {}, readOnly, writable, logLimitBytes, busyFile = null } = program;
    for (const folder of writable) await makeOwnedFolder(folder, identity);
    await writeInput(folders.input, files, identity);
    await writeInput(folders.work, startFiles, identity);
    const resources = limitsOf(plan);
    const confined = sandbox.confine({
      argv,
      env: { USER: name, LOGNAME: name, ...env },
      cwd: folders.work,
      readOnly: [...readOnly, folders.input],
      writable: [folders.work, ...writable],
      tmpFolder: folders.tmp,
      userFolder: folders.user,
      identity,
      ...(resources === null ? {} : sandboxLimits(resources)),
    });
    const forever = { timeoutSeconds: null, checkSeconds: 60, elapsedSeconds: 0 };
    const orphan = plan.orphan === null ? null : { ...plan.orphan, busyFile, usersFolder };
    const limits = { logLimitBytes, graceSeconds: GRACE_SECONDS, leaseFile, leaseSeconds, rosterFolder, orphan };
    const ownNames = { outputFile: null, logFile: null };
    await this.#client.start(confined, { ...forever, ...limits, ...ownNames, resources });
  }

  /** Polls until `probe` returns a value. Throws with the reason if the process ends first. */
  protected async waitUntilReady<T>(
    probe: () => Promise<T | undefined>,
    { name, explain, startLimitMs = START_LIMIT_MS }: StartingProcess,
    signal: AbortSignal,
  ): Promise<T> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(startLimitMs)]);
    for (;;) {
      const found = await probe();
      if (found !== undefined) return found;
      if (!(await this.isAlive())) throw new Fault("unavailable", await explain());
      await delay(POLL_MS, undefined, { signal: limit }).catch(() => undefined);
      signal.throwIfAborted();
      if (limit.aborted)
        throw new Fault("unavailable", `${name} did not become ready within ${startLimitMs / 1000} seconds`);
    }
  }

  async isAlive(): Promise<boolean> {
    if (this.#isStopped) return false;
    const view = await this.#client.observe();
    const { state } = view;
    // The runner may not have noticed the end of the process yet.
    if (state === "running" && view.status.driver !== null)
      return (await findProcess(view.status.driver)) === "running";
    // A runner that this server started has not written its status yet; one of an earlier server never will.
    return state === "starting" || state === "running" || (state === "absent" && this.#isStartedHere);
  }

  /** The pid of the first process in the sandbox; null if it does not run. */
  async pid(): Promise<number | null> {
    const view = await this.#client.observe();
    return view.state === "running" ? (view.status.driver?.pid ?? null) : null;
  }

  /** Resolves when the process has ended for any reason, or when the signal is aborted. */
  async ended(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (await this.isAlive())) {
      await this.#client.waitForEnd(AbortSignal.any([signal, AbortSignal.timeout(RECHECK_MS)]));
      await delay(POLL_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Resolves when the process and its folder are gone. Only a large folder is still being removed then. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    // Without the runner's folder, nothing was started.
    if (existsSync(join(this.folder, "run")) && !this.#client.abandon()) {
      await this.#client.cancel();
      const { state } = await this.#client.waitForEnd(AbortSignal.timeout((GRACE_SECONDS + 5) * 1000));
      if (state !== "ended" && state !== "lost") await this.#client.kill();
    }
    await removeTreeSoon(this.folder);
  }
}

/** Uses half the nice value of programs, because users wait for this process. */
function limitsOf({ allowance, memoryMiB }: LastingPlan): ResourceLimits | null {
  if (allowance === undefined) return null;
  const nice = Math.floor(allowance.nice / 2);
  return limitsWithin({ ...allowance, nice }, memoryMiB, ".."); // relative to `run`
}
