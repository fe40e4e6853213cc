/**
 * Drivers that wait for a program: one for each account, cluster and app whose last program one would have fitted, until
 * the cluster ends. It is nothing but speed: whatever of it fails, a program starts cold. It lives in a folder that is laid
 * out as an attempt is and becomes the attempt by a rename, with its runner in it.
 *
 *   wanted ──▶ starting ──▶ waiting ──take──▶ the attempt's own
 *     ▲            │            │                    │ its end
 *     │            └────────────┴── ended: memory, other contributions, end of the cluster, its time
 *     └──────────────────────────────────────────────┘
 *
 * The next server cannot use them: only the process that started a driver can give it its order. After a crash, the
 * next start ends the remaining drivers; if no server comes back, their own runners end them.
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { limitsWithin, type Allowance } from "../../engines/runner/allowance.ts";
import type { OrphanTerms } from "../../engines/runner/protocol.ts";
import { openRunnerClient, type RunLimits, type RunnerClient } from "../../engines/runner/runner-client.ts";
import { writeInput } from "../../engines/sandbox/confined-folders.ts";
import type { Sandbox } from "../../engines/sandbox/sandbox.ts";
import { listFolder } from "../../lib/list-folder.ts";
import type { Log } from "../../lib/log.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import { placeKey, type PlacedProcess, type SparkPlace } from "../warm/spark-place.ts";
import { accountIdentity, accountRoster, makeStandby, moveStandby } from "./attempt-folders.ts";
import { confineProgram, placeInside } from "./confine-program.ts";
import { endStandby, standbysFolder } from "./end-standbys.ts";
import type { ProgramDriver, StandbyProgram } from "./program-driver.ts";

export interface StandbyOptions {
  readonly dataDir: string;
  readonly driver: ProgramDriver;
  readonly sandbox: Sandbox;
  readonly limits: Pick<RunLimits, "leaseFile" | "leaseSeconds" | "logLimitBytes" | "graceSeconds" | "checkSeconds">;
  readonly allowance: Allowance;
  /** Null: after its server has gone, a driver stays until its time is over. */
  readonly orphan: OrphanTerms | null;
  readonly log: Log;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

interface Standby extends PlacedProcess {
  readonly digest: string;
  readonly memoryMiB: number;
  readonly folder: string;
  readonly client: RunnerClient;
  readonly startedAt: number;
  /** Nobody here cares for it any more: it is taken, or being ended. */
  readonly gone: AbortController;
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

const WAIT_SECONDS = 3600;
const AFTER_USE_MS = 30_000;

export class StandbyDrivers {
  readonly #options: StandbyOptions;
  readonly #standbys = new Map<string, Standby>();
  readonly #wants = new Map<string, Want>();
  /** Ends and starts under way. */
  readonly #work = new Set<Promise<void>>();
  readonly #closed = new AbortController();
  #isStarting = false;

  constructor(options: StandbyOptions) {
    this.#options = options;
  }

  /** Ends what was left of before. */
  async clear(): Promise<void> {
    const { dataDir } = this.#options;
    for (const account of await listFolder(join(dataDir, "accounts"))) {
      for (const name of await listFolder(this.#accountFolder(account))) {
        const folder = join(this.#accountFolder(account), name);
        if (!this.#standbys.has(folder)) await this.#endFolder(folder, openRunnerClient(folder));
      }
    }
  }

  /**
   * Moves one to the attempt's folder, where it waits for its order. False: there is none; then nothing has changed.
   * Either way the program is one for which one shall wait the next time.
   */
  async take(place: SparkPlace, digest: string, attempt: string, generation = 0): Promise<boolean> {
    this.#want(place, generation, this.#options.now() + AFTER_USE_MS);
    const there = this.#of(place);
    for (const each of there) if (each.digest !== digest) void this.#end(each);
    const standby = there.find((each) => each.digest === digest);
    if (standby === undefined) return false;
    const view = await standby.client.observe().catch(() => undefined); // who watches it meets the reason too
    if (view?.state !== "waiting" || !view.isReady || !this.#standbys.delete(standby.folder)) return false;
    standby.gone.abort();
    try {
      await moveStandby(standby.folder, attempt);
      return true;
    } catch (error) {
      this.#options.log.warn({ err: error, place }, "a driver that waited could not be used");
      void this.#end(standby);
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
    for (const standby of this.#standbys.values()) {
      if (this.reservedMiB() <= freeMiB) break;
      void this.#end(standby);
    }
    if (this.#isStarting || this.#closed.signal.aborted) return;
    const leftMiB = spareMiB - this.reservedMiB();
    if (leftMiB <= 0) return;
    // To ask what one is made of touches the account's metastore: what is known not to fit is not asked for.
    const isDue = ({ place, notBefore, memoryMiB }: Want): boolean =>
      memoryMiB <= leftMiB && notBefore <= this.#options.now() && this.#of(place).length === 0;
    const due = [...this.#wants.values()].find(isDue);
    if (due !== undefined) this.#start(due.place, leftMiB);
  }

  reservedMiB(): number {
    return [...this.#standbys.values()].reduce((sum, { memoryMiB }) => sum + memoryMiB, 0);
  }

  accounts(): number[] {
    return [...new Set(this.unusedPlaces().map(({ accountId }) => accountId))];
  }

  /** All of them: one that is taken is a command's own. */
  unusedPlaces(): SparkPlace[] {
    return [...this.#standbys.values()].map(({ place }) => place);
  }

  /** The drivers that wait and those that are to be started. */
  list(): PlacedProcess[] {
    const all: PlacedProcess[] = [...this.#standbys.values(), ...this.#wants.values()];
    return all.map(({ place, generation }) => ({ place, generation }));
  }

  /** Ends those that match; none is started for them before their next program. */
  async endUnused(matches: (place: SparkPlace, generation: number) => boolean): Promise<void> {
    for (const [key, want] of this.#wants) if (matches(want.place, want.generation)) this.#wants.delete(key);
    const found = [...this.#standbys.values()].filter(({ place, generation }) => matches(place, generation));
    await Promise.all(found.map((standby) => this.#end(standby)));
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.endUnused(() => true);
    await Promise.all(this.#work);
    await this.endUnused(() => true); // what was being started
  }

  #want({ accountId, clusterId, appId }: SparkPlace, generation: number, notBefore: number): void {
    const place = { accountId, clusterId, appId };
    this.#wants.set(placeKey(place), { place, generation, notBefore, memoryMiB: 0 });
  }

  #of(place: SparkPlace): Standby[] {
    const key = placeKey(place);
    return [...this.#standbys.values()].filter((each) => placeKey(each.place) === key);
  }

  /** One at a time. One that fails is not tried again before the next program of its place. */
  #start(place: SparkPlace, spareMiB: number): void {
    this.#isStarting = true;
    const started = this.#tryToStart(place, spareMiB)
      .catch((error: unknown) => {
        this.#wants.delete(placeKey(place));
        if (this.#closed.signal.aborted) return;
        this.#options.log.warn({ err: error, place }, "no driver waits for the next program");
      })
      .finally(() => {
        this.#isStarting = false;
      });
    void this.#track(started);
  }

  async #tryToStart(place: SparkPlace, spareMiB: number): Promise<void> {
    const name = randomBytes(8).toString("hex");
    const folder = join(this.#accountFolder(String(place.accountId)), name);
    const { driver, sandbox } = this.#options;
    const asked = Promise.resolve(driver.standby?.(place, placeInside(sandbox, folder)));
    const program = await unlessAborted(this.#closed.signal, asked); // it may take a metastore's start
    const want = this.#wants.get(placeKey(place));
    if (program === undefined || want === undefined) {
      this.#wants.delete(placeKey(place));
      return;
    }
    this.#wants.set(placeKey(place), { ...want, memoryMiB: program.memoryMiB });
    if (program.memoryMiB <= spareMiB) await this.#run(place, folder, program);
  }

  async #run(place: SparkPlace, folder: string, program: StandbyProgram): Promise<void> {
    const { dataDir, sandbox, limits, allowance, now } = this.#options;
    const { digest, generation = 0, memoryMiB, greeting } = program;
    const client = openRunnerClient(folder);
    const gone = new AbortController();
    const standby = { place, generation, digest, memoryMiB, folder, client, startedAt: now(), gone };
    this.#standbys.set(folder, standby);
    try {
      const { accountId } = place;
      const identity = accountIdentity(accountId);
      const inside = placeInside(sandbox, folder);
      const folders = await makeStandby(folder, { accountId, identity, home: inside.work });
      await writeInput(folders.input, program.files, identity);
      const files = { outputFile: null, logFile: null };
      const resources = limitsWithin(allowance, memoryMiB);
      const untimed = { timeoutSeconds: null, elapsedSeconds: 0 };
      const orphan =
        this.#options.orphan === null ? null : { ...this.#options.orphan, busyFile: null, usersFolder: null };
      const rosterFolder = accountRoster(dataDir, accountId);
      await client.start(
        confineProgram(sandbox, program, { folders, inside, identity, resources }),
        { ...limits, ...files, ...untimed, orphan, rosterFolder, resources },
        { greeting, waitSeconds: WAIT_SECONDS },
      );
    } catch (error) {
      await this.#end(standby);
      throw error;
    }
    if (standby.gone.signal.aborted)
      await this.#end(standby); // meanwhile, when it was not there yet
    else void this.#watch(standby).catch((error: unknown) => this.#giveUp(standby, error));
  }

  /** One whose time is over is replaced; one that ended by itself would do so the next time, too. */
  async #watch(standby: Standby): Promise<void> {
    const { place, client, gone, startedAt } = standby;
    await client.waitForEnd(gone.signal);
    if (gone.signal.aborted) return;
    if (this.#options.now() - startedAt < WAIT_SECONDS * 1000) this.#wants.delete(placeKey(place));
    await this.#end(standby);
  }

  /** Nobody can tell what has become of it. */
  async #giveUp(standby: Standby, error: unknown): Promise<void> {
    if (standby.gone.signal.aborted) return;
    this.#options.log.warn({ err: error, place: standby.place }, "a driver that waits could not be looked after");
    this.#wants.delete(placeKey(standby.place));
    await this.#end(standby);
  }

  #end(standby: Standby): Promise<void> {
    this.#standbys.delete(standby.folder);
    standby.gone.abort();
    return this.#track(this.#endFolder(standby.folder, standby.client));
  }

  async #endFolder(folder: string, client: RunnerClient): Promise<void> {
    try {
      await endStandby(folder, client);
    } catch (error) {
      this.#options.log.warn({ err: error, folder }, "a driver that waited could not be ended");
    }
  }

  #track(work: Promise<void>): Promise<void> {
    this.#work.add(work);
    return work.finally(() => this.#work.delete(work));
  }

  #accountFolder(accountId: string): string {
    return standbysFolder(this.#options.dataDir, accountId);
  }
}
