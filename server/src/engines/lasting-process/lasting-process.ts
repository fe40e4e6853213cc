/**
 * A server of ours that outlives us: it runs under a runner in a sandbox, and all that is known of it is in its folder, so
 * that it is found again after our restart.
 *
 *   run/                      the runner's: status, log
 *   input/ work/ tmp/ user/   what the process sees
 *
 * What it runs, where it listens and how it says so is for whoever has one.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Fault } from "../../lib/fault.ts";
import { removeTree } from "../../lib/remove-tree.ts";
import { findProcess } from "../detached-process/process-handle.ts";
import { confinedBy, limitsWithin, type Allowance } from "../runner/allowance.ts";
import type { OrphanTerms, ResourceLimits } from "../runner/protocol.ts";
import { openRunnerClient, type RunnerClient } from "../runner/runner-client.ts";
import { makeConfinedFolders, makeOwnedFolder, writeInput, type ConfinedFolders } from "../sandbox/confined-folders.ts";
import type { Identity } from "../sandbox/confined-program.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";

/** The terms that all lasting processes of a node share. */
export interface LastingTerms {
  readonly sandbox: Sandbox;
  /** Null: it may run on whatever becomes of the database. */
  readonly leaseFile: string | null;
  readonly leaseSeconds: number;
  /** When it ends after its server has gone. Null: it stays. */
  readonly orphan: OrphanTerms | null;
  /** Absent: it may take as much as it likes. */
  readonly allowance?: Allowance;
}

export interface LastingPlan extends LastingTerms {
  readonly identity: Identity | undefined;
  /** Of the user inside of the sandbox. */
  readonly userName: string;
  /** Folders above its own that the user has to pass. */
  readonly levels: number;
  /** The roster (`runner/roster.ts`) that names it while it is at work. */
  readonly rosterFolder: string | null;
  /** The roster of the processes that need it. Null: it reports by itself whether it is needed. */
  readonly usersFolder: string | null;
  readonly memoryMiB: number;
}

export interface LastingProgram {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** By name, for `input`; secrets may stand in them. */
  readonly files: Readonly<Record<string, string>>;
  /** What it must see besides its own folders. */
  readonly readOnly: readonly string[];
  readonly writable: readonly string[];
  readonly logLimitBytes: number;
  /** The program keeps this file while it is at work; undefined: it does not report that. */
  readonly busyFile?: string;
}

const GRACE_SECONDS = 5;
const START_LIMIT_MS = 180_000;
const LOOK_EVERY_MS = 50;
const LONG_LOOK_MS = 60_000;

/** As whoever waits for it knows it. */
export interface StartedProgram {
  readonly name: string;
  /** Why it has ended. */
  readonly explain: () => Promise<string>;
  /** Undefined: minutes. */
  readonly startLimitMs?: number | undefined;
}

export class LastingProcess {
  readonly folder: string;
  readonly #client: RunnerClient;
  #isStartedHere = false;
  #isStopped = false;

  /** The one of that folder, whether it runs or not. */
  constructor(folder: string) {
    this.folder = folder;
    this.#client = openRunnerClient(join(folder, "run"));
  }

  /** What it and its runner have said. */
  protected get logFile(): string {
    return join(this.folder, "run", "log");
  }

  /** Once per folder. Settles when the process is on its way; `untilUp` tells when it answers. */
  protected async launch(plan: LastingPlan, programIn: (folders: ConfinedFolders) => LastingProgram): Promise<void> {
    const { sandbox, identity, userName: name, levels, usersFolder, leaseFile, leaseSeconds, rosterFolder } = plan;
    this.#isStartedHere = true;
    const folders = await makeConfinedFolders(this.folder, { name, identity, levels });
    const { argv, env, files, readOnly, writable, logLimitBytes, busyFile = null } = programIn(folders);
    for (const folder of writable) await makeOwnedFolder(folder, identity);
    await writeInput(folders.input, files, identity);
    const resources = limitsOf(plan);
    const program = sandbox.confine({
      argv,
      env: { USER: name, LOGNAME: name, ...env },
      cwd: folders.work,
      readOnly: [...readOnly, folders.input],
      writable: [folders.work, ...writable],
      tmpFolder: folders.tmp,
      userFolder: folders.user,
      identity,
      ...(resources === null ? {} : confinedBy(resources)),
    });
    const forever = { timeoutSeconds: null, checkSeconds: 60, elapsedSeconds: 0 };
    const orphan = plan.orphan === null ? null : { ...plan.orphan, busyFile, usersFolder };
    const limits = { logLimitBytes, graceSeconds: GRACE_SECONDS, leaseFile, leaseSeconds, rosterFolder, orphan };
    const ownNames = { outputFile: null, logFile: null };
    await this.#client.start(program, { ...forever, ...limits, ...ownNames, resources });
  }

  /** What `look` finds. Fails with the reason when it has ended before it ever found anything. */
  protected async untilUp<T>(
    look: () => Promise<T | undefined>,
    { name, explain, startLimitMs = START_LIMIT_MS }: StartedProgram,
    signal: AbortSignal,
  ): Promise<T> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(startLimitMs)]);
    for (;;) {
      const found = await look();
      if (found !== undefined) return found;
      if (!(await this.isAlive())) throw new Fault("unavailable", await explain());
      await delay(LOOK_EVERY_MS, undefined, { signal: limit }).catch(() => undefined);
      signal.throwIfAborted();
      if (limit.aborted) throw new Fault("unavailable", `${name} did not come up in time`);
    }
  }

  async isAlive(): Promise<boolean> {
    if (this.#isStopped) return false;
    const view = await this.#client.observe();
    const { state } = view;
    // Its runner may not have noticed yet.
    if (state === "running" && view.status.driver !== null)
      return (await findProcess(view.status.driver)) === "running";
    // A runner of ours that is about to start has not left a mark yet; one of an earlier Headgate never will.
    return state === "starting" || state === "running" || (state === "absent" && this.#isStartedHere);
  }

  /** Of the sandbox's first process; null: it does not run. */
  async pid(): Promise<number | null> {
    const view = await this.#client.observe();
    return view.state === "running" ? (view.status.driver?.pid ?? null) : null;
  }

  /** Settles when it has ended, whoever ended it, or the signal is aborted. */
  async ended(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (await this.isAlive())) {
      await this.#client.waitForEnd(AbortSignal.any([signal, AbortSignal.timeout(LONG_LOOK_MS)]));
      await delay(LOOK_EVERY_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Settles when nothing of it is left. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    // Where not even the runner's folder is, nothing was started.
    if (existsSync(join(this.folder, "run")) && !this.#client.abandon()) {
      await this.#client.cancel();
      const { state } = await this.#client.waitForEnd(AbortSignal.timeout((GRACE_SECONDS + 5) * 1000));
      if (state !== "ended" && state !== "lost") await this.#client.kill();
    }
    await removeTree(this.folder);
  }
}

/** It stands back half as far as a program does, because people wait for it. */
function limitsOf({ allowance, memoryMiB }: LastingPlan): ResourceLimits | null {
  if (allowance === undefined) return null;
  const nice = Math.floor(allowance.nice / 2);
  return limitsWithin({ ...allowance, nice }, memoryMiB, ".."); // `run` is inside of its folder
}
