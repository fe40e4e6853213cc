import type { Pool, PoolClient } from "pg";
import { connectionStream } from "./one-write.ts";
import type { NoAnswerInTime, OutageWatch, Unit } from "./outage-watch.ts";

/** One unit of work on a connection of the pool: from asking for the connection to the last answer on it. */
export class PooledUnit implements Unit {
  readonly #watch: OutageWatch;
  #client: PoolClient | undefined;
  #error: NoAnswerInTime | undefined;
  #refuse: ((error: NoAnswerInTime) => void) | undefined;

  constructor(watch: OutageWatch, limitMs: number) {
    this.#watch = watch;
    watch.begin(this, limitMs);
  }

  /** Waits no longer for the connection than the unit may take. */
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

  /** Every statement on the connection fails, and it is of no more use. */
  giveUp(error: NoAnswerInTime): void {
    this.#error = error;
    if (this.#client === undefined) this.#refuse?.(error);
    else connectionStream(this.#client).destroy(error);
  }

  end(): void {
    this.#watch.end(this);
  }
}

/** The pool's connections, without those that may have died unnoticed. */
export class FreshConnections {
  readonly #pool: Pool;
  readonly #watch: OutageWatch;
  readonly #generations = new WeakMap<PoolClient, number>();

  constructor(pool: Pool, watch: OutageWatch) {
    this.#pool = pool;
    this.#watch = watch;
    pool.on("connect", (client) => this.#generations.set(client, watch.generation));
  }

  async take(unit: PooledUnit): Promise<PoolClient> {
    for (;;) {
      const asked = this.#pool.connect();
      const client = await unit.on(asked).catch((error: unknown) => {
        // It comes too late for this unit; the next one has it.
        if (unit.isOver)
          asked.then(
            (late) => late.release(),
            () => undefined,
          );
        throw error;
      });
      if (this.#generations.get(client) === this.#watch.generation) return client;
      connectionStream(client).destroy();
      client.release(true);
    }
  }
}
