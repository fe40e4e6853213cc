/**
 * Standby drivers wait for a program: one for each account, cluster and app whose last program could have used one, until
 * the cluster ends. They only save time: if anything about them fails, a program starts cold. A standby driver lives in a
 * folder with the layout of an attempt, and becomes the attempt's driver when the folder is renamed.
 *
 *   wanted ──▶ supervised ──take──▶ the attempt's own
 *     ▲            │ ended: memory, other contributions, end of the cluster, end of its time
 *     └────────────┴──────────────── a program of the scope has ended
 *
 * Only the server that has started a driver can give it an order. After a crash the next server therefore ends the
 * remaining drivers; if no server comes back, their own runners end them.
 */
import { randomBytes } from "node:crypto";
import { Supervisor } from "../../processes/supervisor/supervisor.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import { scopeKey, type ScopedProcess, type SparkScope } from "../execution/spark-scope.ts";
import { moveStandby } from "../execution/command-files.ts";
import { foldersInside } from "../execution/confine-run.ts";
import type { ProgramDriver } from "./program-driver.ts";
import { endStandby, StandbyDriver, standbyFolders, type StandbyDriverOptions } from "./standby-driver.ts";

export interface StandbyOptions extends StandbyDriverOptions {
  readonly driver: ProgramDriver;
}

/** A driver to be started. Its generation is the app's at its last program. */
interface Want extends ScopedProcess {
  /** An earlier start would slow down the program that took the previous driver. */
  readonly notBefore: number;
  /** Known after the first attempt to start it; 0: not known yet. */
  readonly memoryMiB: number;
}

/** The node's memory for standby drivers. */
export interface StandbyRoom {
  /** The memory that no process uses. */
  readonly freeMiB: number;
  /** `freeMiB` without the memory of commands that are about to start. */
  readonly spareMiB: number;
}

const AFTER_USE_MS = 30_000;
const START_FAILED = "a standby driver could not be started";

export class StandbyDrivers {
  readonly #options: StandbyOptions;
  readonly #supervisor: Supervisor<SparkScope, StandbyDriver>;
  readonly #wants = new Map<string, Want>();
  readonly #closed = new AbortController();
  #starting: Promise<void> | undefined;

  constructor(options: StandbyOptions) {
    this.#options = options;
    this.#supervisor = new Supervisor({
      keyText: scopeKey,
      name: "a standby driver",
      startFailure: START_FAILED,
      describe: ({ key: scope, folder }) => ({ place: scope, folder }),
      log: options.log,
      onDeath: (standby) => this.#noteDeath(standby),
    });
  }

  /** Ends the drivers of earlier servers. */
  async clear(): Promise<void> {
    const { dataDir, log } = this.#options;
    for (const { path } of await standbyFolders(dataDir).list()) {
      if (this.#supervisor.list().some(({ folder }) => folder === path)) continue;
      await endStandby(path).catch((error: unknown) =>
        log.warn({ err: error, folder: path }, "a leftover standby driver could not be ended"),
      );
    }
  }

  /**
   * Moves the driver of the scope to the attempt's folder, where it waits for its order. False: there is none, and
   * nothing has changed. Either way, a driver will be started for the next program of the scope.
   */
  async take(scope: SparkScope, digest: string, attempt: string, generation = 0): Promise<boolean> {
    const { accountId, clusterId, appId } = scope; // a caller's scope may have further fields
    const notBefore = this.#options.now() + AFTER_USE_MS;
    const want = { scope: { accountId, clusterId, appId }, generation, notBefore, memoryMiB: 0 };
    this.#wants.set(scopeKey(scope), want);
    this.#supervisor.drainOthers(scope, digest);
    const standby = this.#supervisor.find(scope, digest);
    if (standby === undefined || !(await standby.isWaiting()) || !this.#supervisor.handOver(standby)) return false;
    try {
      await moveStandby(standby.folder, attempt);
      return true;
    } catch (error) {
      this.#options.log.warn({ err: error, place: scope }, "a standby driver could not be used");
      void this.#supervisor.end(standby);
      return false;
    }
  }

  /** A program of the scope has ended, so a driver for the next one may start. */
  noteEnd(scope: SparkScope): void {
    const want = this.#wants.get(scopeKey(scope));
    if (want !== undefined) this.#wants.set(scopeKey(scope), { ...want, notBefore: this.#options.now() });
  }

  /** Ends drivers that take memory from commands, and starts those that are wanted and fit. */
  keepWithin({ freeMiB, spareMiB }: StandbyRoom): void {
    this.#supervisor.evict(this.reservedMiB() - freeMiB);
    if (this.#starting !== undefined || this.#closed.signal.aborted) return;
    const leftMiB = spareMiB - this.reservedMiB();
    if (leftMiB <= 0) return;
    // Preparing a driver may start the account's metastore, so one that is known not to fit is not prepared.
    const isDue = ({ scope, notBefore, memoryMiB }: Want): boolean =>
      memoryMiB <= leftMiB && notBefore <= this.#options.now() && this.#supervisor.of(scope).length === 0;
    const due = [...this.#wants.values()].find(isDue);
    if (due === undefined) return;
    this.#starting = this.#start(due.scope, leftMiB).finally(() => {
      this.#starting = undefined;
    });
  }

  reservedMiB(): number {
    return this.#supervisor.reservedMiB();
  }

  accounts(): number[] {
    return [...new Set(this.unusedScopes().map(({ accountId }) => accountId))];
  }

  /** The scopes of all of them: a driver in use belongs to its command. */
  unusedScopes(): SparkScope[] {
    return this.#supervisor.list().map(({ key }) => key);
  }

  /** The drivers that wait and those that are to be started. */
  list(): ScopedProcess[] {
    const waiting = this.#supervisor.list().map(({ key: scope, generation }) => ({ scope, generation }));
    return [...waiting, ...this.#wants.values()].map(({ scope, generation }) => ({ scope, generation }));
  }

  /** Ends those that match. None is started for their scopes before the next program there. */
  async endUnused(matches: (scope: SparkScope, generation: number) => boolean): Promise<void> {
    for (const [key, want] of this.#wants) if (matches(want.scope, want.generation)) this.#wants.delete(key);
    await this.#supervisor.stop(({ key, generation }) => matches(key, generation));
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.endUnused(() => true);
    await this.#starting;
    await this.endUnused(() => true); // the one that was being started
  }

  /** After a failure, the scope gets no standby driver before its next program. */
  async #start(scope: SparkScope, spareMiB: number): Promise<void> {
    try {
      const standby = await this.#open(scope, spareMiB);
      if (standby === undefined) return;
      await this.#supervisor.add(standby).ready.catch(() => this.#wants.delete(scopeKey(scope)));
    } catch (error) {
      this.#wants.delete(scopeKey(scope));
      if (!this.#closed.signal.aborted) this.#options.log.warn({ err: error, place: scope }, START_FAILED);
    }
  }

  async #open(scope: SparkScope, spareMiB: number): Promise<StandbyDriver | undefined> {
    const { driver, sandbox, dataDir } = this.#options;
    const folder = standbyFolders(dataDir).pathOf(scope.accountId, randomBytes(8).toString("hex"));
    const prepared = Promise.resolve(driver.standby?.(scope, foldersInside(sandbox, folder)));
    const program = await unlessAborted(this.#closed.signal, prepared); // it may start a metastore
    const want = this.#wants.get(scopeKey(scope));
    if (program === undefined || want === undefined) {
      this.#wants.delete(scopeKey(scope));
      return undefined;
    }
    this.#wants.set(scopeKey(scope), { ...want, memoryMiB: program.memoryMiB });
    return program.memoryMiB > spareMiB ? undefined : new StandbyDriver(scope, folder, program, this.#options);
  }

  /** Replaces a driver whose time was over. One that ended by itself is not replaced: the next would end, too. */
  async #noteDeath(standby: StandbyDriver): Promise<void> {
    if (!standby.hasWaitedFully) this.#wants.delete(scopeKey(standby.key));
    await this.#supervisor.end(standby);
  }
}
