/**
 * Standby drivers wait for a program: one for each account, cluster and app whose last program could have used one, until
 * the cluster ends. They only save time: if anything about them fails, a program starts cold. A standby driver lives in a
 * folder with the layout of an attempt, and becomes the attempt's driver when the folder is renamed.
 *
 *   wanted ──▶ supervised ──take──▶ the attempt's own
 *     ▲            │ ended: memory, other contributions, end of the cluster, end of its time
 *     └────────────┴──────────────── a program of the place has ended
 *
 * Only the server that has started a driver can give it an order. After a crash the next server therefore ends the
 * remaining drivers; if no server comes back, their own runners end them.
 */
import { randomBytes } from "node:crypto";
import { Supervisor } from "../../processes/supervisor/supervisor.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import { placeKey, type PlacedProcess, type SparkPlace } from "../execution/spark-place.ts";
import { moveStandby } from "../execution/command-files.ts";
import { foldersInside } from "../execution/confine-run.ts";
import type { ProgramDriver } from "./program-driver.ts";
import { endStandby, StandbyDriver, standbyFolders, type StandbyDriverOptions } from "./standby-driver.ts";

export interface StandbyOptions extends StandbyDriverOptions {
  readonly driver: ProgramDriver;
}

/** A driver to be started. Its generation is the app's at its last program. */
interface Want extends PlacedProcess {
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
  readonly #supervisor: Supervisor<SparkPlace, StandbyDriver>;
  readonly #wants = new Map<string, Want>();
  readonly #closed = new AbortController();
  #starting: Promise<void> | undefined;

  constructor(options: StandbyOptions) {
    this.#options = options;
    this.#supervisor = new Supervisor({
      keyText: placeKey,
      name: "a standby driver",
      startFailure: START_FAILED,
      describe: ({ key: place, folder }) => ({ place, folder }),
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
   * Moves the driver of the place to the attempt's folder, where it waits for its order. False: there is none, and nothing
   * has changed. Either way, a driver will be started for the next program of the place.
   */
  async take(place: SparkPlace, digest: string, attempt: string, generation = 0): Promise<boolean> {
    const { accountId, clusterId, appId } = place; // a caller's place may have further fields
    const notBefore = this.#options.now() + AFTER_USE_MS;
    const want = { place: { accountId, clusterId, appId }, generation, notBefore, memoryMiB: 0 };
    this.#wants.set(placeKey(place), want);
    this.#supervisor.drainOthers(place, digest);
    const standby = this.#supervisor.find(place, digest);
    if (standby === undefined || !(await standby.isWaiting()) || !this.#supervisor.handOver(standby)) return false;
    try {
      await moveStandby(standby.folder, attempt);
      return true;
    } catch (error) {
      this.#options.log.warn({ err: error, place }, "a standby driver could not be used");
      void this.#supervisor.end(standby);
      return false;
    }
  }

  /** A program of the place has ended, so a driver for the next one may start. */
  noteEnd(place: SparkPlace): void {
    const want = this.#wants.get(placeKey(place));
    if (want !== undefined) this.#wants.set(placeKey(place), { ...want, notBefore: this.#options.now() });
  }

  /** Ends drivers that take memory from commands, and starts those that are wanted and fit. */
  keepWithin({ freeMiB, spareMiB }: StandbyRoom): void {
    this.#supervisor.evict(this.reservedMiB() - freeMiB);
    if (this.#starting !== undefined || this.#closed.signal.aborted) return;
    const leftMiB = spareMiB - this.reservedMiB();
    if (leftMiB <= 0) return;
    // Preparing a driver may start the account's metastore, so one that is known not to fit is not prepared.
    const isDue = ({ place, notBefore, memoryMiB }: Want): boolean =>
      memoryMiB <= leftMiB && notBefore <= this.#options.now() && this.#supervisor.of(place).length === 0;
    const due = [...this.#wants.values()].find(isDue);
    if (due === undefined) return;
    this.#starting = this.#start(due.place, leftMiB).finally(() => {
      this.#starting = undefined;
    });
  }

  reservedMiB(): number {
    return this.#supervisor.reservedMiB();
  }

  accounts(): number[] {
    return [...new Set(this.unusedPlaces().map(({ accountId }) => accountId))];
  }

  /** The places of all of them: a driver in use belongs to its command. */
  unusedPlaces(): SparkPlace[] {
    return this.#supervisor.list().map(({ key }) => key);
  }

  /** The drivers that wait and those that are to be started. */
  list(): PlacedProcess[] {
    const waiting = this.#supervisor.list().map(({ key: place, generation }) => ({ place, generation }));
    return [...waiting, ...this.#wants.values()].map(({ place, generation }) => ({ place, generation }));
  }

  /** Ends those that match. None is started for their places before the next program there. */
  async endUnused(matches: (place: SparkPlace, generation: number) => boolean): Promise<void> {
    for (const [key, want] of this.#wants) if (matches(want.place, want.generation)) this.#wants.delete(key);
    await this.#supervisor.stop(({ key, generation }) => matches(key, generation));
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.endUnused(() => true);
    await this.#starting;
    await this.endUnused(() => true); // the one that was being started
  }

  /** After a failure, the place gets no standby driver before its next program. */
  async #start(place: SparkPlace, spareMiB: number): Promise<void> {
    try {
      const standby = await this.#open(place, spareMiB);
      if (standby === undefined) return;
      await this.#supervisor.add(standby).ready.catch(() => this.#wants.delete(placeKey(place)));
    } catch (error) {
      this.#wants.delete(placeKey(place));
      if (!this.#closed.signal.aborted) this.#options.log.warn({ err: error, place }, START_FAILED);
    }
  }

  async #open(place: SparkPlace, spareMiB: number): Promise<StandbyDriver | undefined> {
    const { driver, sandbox, dataDir } = this.#options;
    const folder = standbyFolders(dataDir).pathOf(place.accountId, randomBytes(8).toString("hex"));
    const prepared = Promise.resolve(driver.standby?.(place, foldersInside(sandbox, folder)));
    const program = await unlessAborted(this.#closed.signal, prepared); // it may start a metastore
    const want = this.#wants.get(placeKey(place));
    if (program === undefined || want === undefined) {
      this.#wants.delete(placeKey(place));
      return undefined;
    }
    this.#wants.set(placeKey(place), { ...want, memoryMiB: program.memoryMiB });
    return program.memoryMiB > spareMiB ? undefined : new StandbyDriver(place, folder, program, this.#options);
  }

  /** Replaces a driver whose time was over. One that ended by itself is not replaced: the next would end, too. */
  async #noteDeath(standby: StandbyDriver): Promise<void> {
    if (!standby.hasWaitedFully) this.#wants.delete(placeKey(standby.key));
    await this.#supervisor.end(standby);
  }
}
