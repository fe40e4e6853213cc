/**
 * Drivers that wait for a program: one for each account, cluster and app whose last program one would have fitted, until
 * the cluster ends. It is nothing but speed: whatever of it fails, a program starts cold. It lives in a folder that is laid
 * out as an attempt is and becomes the attempt by a rename, with its runner in it.
 *
 *   wanted ──▶ supervised ──take──▶ the attempt's own
 *     ▲            │ ended: memory, other contributions, end of the cluster, its time
 *     └────────────┴──────────────── a program of the place has ended
 *
 * The next server cannot use them: only the process that started a driver can give it its order. After a crash, the
 * next start ends the remaining drivers; if no server comes back, their own runners end them.
 */
import { randomBytes } from "node:crypto";
import { Supervisor } from "../../engines/supervisor/supervisor.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import { placeKey, type PlacedProcess, type SparkPlace } from "../execution/spark-place.ts";
import { moveStandby } from "../execution/attempt-folders.ts";
import { foldersInside } from "./confine-program.ts";
import type { ProgramDriver } from "./program-driver.ts";
import { endStandby, StandbyDriver, standbyFolders, type StandbyDriverOptions } from "./standby-driver.ts";

export interface StandbyOptions extends StandbyDriverOptions {
  readonly driver: ProgramDriver;
}

/** A driver to be started. Its generation is the app's at its last program. */
interface Want extends PlacedProcess {
  /** Its warm-up would slow down the very program that took the last one. */
  readonly notBefore: number;
  /** As the last try since its last program has found out; none yet: 0. */
  readonly memoryMiB: number;
}

/** Memory of the node for drivers that wait. */
export interface StandbyRoom {
  /** Beside all that runs. */
  readonly freeMiB: number;
  /** Beside what is about to run, too. */
  readonly spareMiB: number;
}

const AFTER_USE_MS = 30_000;
const NONE_WAITS = "no driver waits for the next program";

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
      name: "a driver that waited",
      startFailure: NONE_WAITS,
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
        log.warn({ err: error, folder: path }, "a driver that waited could not be ended"),
      );
    }
  }

  /**
   * Moves one to the attempt's folder, where it waits for its order. False: there is none; then nothing has changed.
   * Either way the program is one for which one shall wait the next time.
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
      this.#options.log.warn({ err: error, place }, "a driver that waited could not be used");
      void this.#supervisor.end(standby);
      return false;
    }
  }

  /** A program of the place has ended: there is room for the next to be warmed up. */
  noteEnd(place: SparkPlace): void {
    const want = this.#wants.get(placeKey(place));
    if (want !== undefined) this.#wants.set(placeKey(place), { ...want, notBefore: this.#options.now() });
  }

  /** They never keep a command from running: what does not fit any more ends. What is wanted and fits is started. */
  keepWithin({ freeMiB, spareMiB }: StandbyRoom): void {
    this.#supervisor.evict(this.reservedMiB() - freeMiB);
    if (this.#starting !== undefined || this.#closed.signal.aborted) return;
    const leftMiB = spareMiB - this.reservedMiB();
    if (leftMiB <= 0) return;
    // To ask what one is made of touches the account's metastore: what is known not to fit is not asked for.
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

  /** All of them: one that is taken is a command's own. */
  unusedPlaces(): SparkPlace[] {
    return this.#supervisor.list().map(({ key }) => key);
  }

  /** The drivers that wait and those that are to be started. */
  list(): PlacedProcess[] {
    const waiting = this.#supervisor.list().map(({ key: place, generation }) => ({ place, generation }));
    return [...waiting, ...this.#wants.values()].map(({ place, generation }) => ({ place, generation }));
  }

  /** Ends those that match; none is started for them before their next program. */
  async endUnused(matches: (place: SparkPlace, generation: number) => boolean): Promise<void> {
    for (const [key, want] of this.#wants) if (matches(want.place, want.generation)) this.#wants.delete(key);
    await this.#supervisor.stop(({ key, generation }) => matches(key, generation));
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.endUnused(() => true);
    await this.#starting;
    await this.endUnused(() => true); // what was being started
  }

  /** One at a time. One that fails is not tried again before the next program of its place. */
  async #start(place: SparkPlace, spareMiB: number): Promise<void> {
    try {
      const standby = await this.#open(place, spareMiB);
      if (standby === undefined) return;
      await this.#supervisor.add(standby).ready.catch(() => this.#wants.delete(placeKey(place)));
    } catch (error) {
      this.#wants.delete(placeKey(place));
      if (!this.#closed.signal.aborted) this.#options.log.warn({ err: error, place }, NONE_WAITS);
    }
  }

  async #open(place: SparkPlace, spareMiB: number): Promise<StandbyDriver | undefined> {
    const { driver, sandbox, dataDir } = this.#options;
    const folder = standbyFolders(dataDir).pathOf(place.accountId, randomBytes(8).toString("hex"));
    const asked = Promise.resolve(driver.standby?.(place, foldersInside(sandbox, folder)));
    const program = await unlessAborted(this.#closed.signal, asked); // it may take a metastore's start
    const want = this.#wants.get(placeKey(place));
    if (program === undefined || want === undefined) {
      this.#wants.delete(placeKey(place));
      return undefined;
    }
    this.#wants.set(placeKey(place), { ...want, memoryMiB: program.memoryMiB });
    return program.memoryMiB > spareMiB ? undefined : new StandbyDriver(place, folder, program, this.#options);
  }

  /** One that has waited its time is replaced; one that ended by itself would do so the next time, too. */
  async #noteDeath(standby: StandbyDriver): Promise<void> {
    if (!standby.hasWaitedFully) this.#wants.delete(placeKey(standby.key));
    await this.#supervisor.end(standby);
  }
}
