import type { Pool, PoolClient } from "pg";
import { FairSemaphore } from "../lib/fair-queue.ts";
import { SoleUse } from "../lib/sole-use.ts";
import { connectionStream } from "./statement-sending.ts";
import type { DatabaseTimeout, OutageWatch, Unit } from "./outage-watch.ts";

/** The share of the pool that one account may hold, so that other accounts do not wait for its long statements. */
const SHARE_OF_SOLE_ACCOUNT = 0.75;
/** The same while other accounts are active. More concurrent statements would only slow down those of the others. */
const SHARE_OF_ACCOUNT = 0.2;
/** Accounts leave this many connections free for token checks and other system statements. Very small pools keep fewer. */
const KEPT_FOR_SYSTEM = 2;

/** One unit of work on a pooled connection: from requesting the connection to the last reply on it. */
export class PooledUnit implements Unit {
  readonly #watch: OutageWatch;
  #client: PoolClient | undefined;
  #error: DatabaseTimeout | undefined;
  #refuse: ((error: DatabaseTimeout) => void) | undefined;

  constructor(watch: OutageWatch, limitMs: number) {
    this.#watch = watch;
    watch.begin(this, limitMs);
  }

  /** Waits for the connection until the unit's deadline at most. */
  on(connection: Promise<PoolClient>): Promise<PoolClient> {
    const { promise, resolve, reject } = Promise.withResolvers<PoolClient>();
    this.#refuse = reject;
    connection.then((client) => {
      this.#client = client;
      resolve(client);
    }, reject);
    return promise;
  }

  get isOver(): boolean {
    return this.#error !== undefined;
  }

  throwIfOver(): void {
    if (this.#error !== undefined) throw this.#error;
  }

  /** All statements on the connection fail, and it cannot be used again. */
  giveUp(error: DatabaseTimeout): void {
    this.#error = error;
    if (this.#client === undefined) this.#refuse?.(error);
    else connectionStream(this.#client).destroy(error);
  }

  end(): void {
    this.#watch.end(this);
  }
}

/** The keys among which connections are shared: each account by its id, and the database owner for everything else. */
export type Owner = number | "system" | "shared";

/**
 * The pool's connections, without those that may have died unnoticed. Accounts take turns and none can hold all
 * connections, so that an account with many requests does not keep others waiting.
 */
export class FairConnections {
  readonly #pool: Pool;
  readonly #watch: OutageWatch;
  readonly #slots: FairSemaphore<Owner>;
  readonly #slotsOfAccounts: FairSemaphore<number>;
  readonly #accounts = new SoleUse<number>();
  readonly #generations = new WeakMap<PoolClient, number>();
  /** Releases the slot of a connection in use. */
  readonly #releases = new WeakMap<PoolClient, () => void>();

  constructor(pool: Pool, watch: OutageWatch) {
    this.#pool = pool;
    this.#watch = watch;
    const all = pool.options.max;
    const share = (): number => (this.#accounts.isSole ? SHARE_OF_SOLE_ACCOUNT : SHARE_OF_ACCOUNT);
    this.#slotsOfAccounts = new FairSemaphore(Math.max(1, all - KEPT_FOR_SYSTEM), () => Math.ceil(all * share()));
    this.#slots = new FairSemaphore(all, () => all);
    pool.on("connect", (client) => this.#generations.set(client, watch.generation));
    pool.on("release", (_error, client) => {
      this.#releases.get(client)?.();
      this.#releases.delete(client);
    });
  }

  get waiting(): number {
    return this.#slots.waiting + this.#slotsOfAccounts.waiting;
  }

  take(unit: PooledUnit, owner: Owner): Promise<PoolClient> {
    const asked = this.#connect(unit, owner);
    return unit.on(asked).catch((error: unknown) => {
      // Too late for this unit; the next one gets it.
      if (unit.isOver)
        asked.then(
          (late) => late.release(),
          () => undefined,
        );
      throw error;
    });
  }

  async #connect(unit: PooledUnit, owner: Owner): Promise<PoolClient> {
    const release = await this.#takeSlots(owner);
    try {
      const client = await this.#connectFresh(unit);
      this.#releases.set(client, release);
      return client;
    } catch (error) {
      release();
      throw error;
    }
  }

  async #takeSlots(owner: Owner): Promise<() => void> {
    if (typeof owner !== "number") return this.#slots.acquire(owner);
    this.#accounts.note(owner);
    const releaseOfAccounts = await this.#slotsOfAccounts.acquire(owner);
    const release = await this.#slots.acquire(owner);
    return () => {
      release();
      releaseOfAccounts();
    };
  }

  async #connectFresh(unit: PooledUnit): Promise<PoolClient> {
    for (;;) {
      unit.throwIfOver();
      const client = await this.#pool.connect();
      if (this.#generations.get(client) === this.#watch.generation) return client;
      connectionStream(client).destroy();
      client.release(true);
    }
  }
}
