import type { PoolClient } from "pg";
import { connectionStream } from "./statement-sending.ts";
import type { PooledUnit } from "./fair-connections.ts";
import { isStoreUnavailable } from "./store-fault.ts";

/**
 * One connection for the short statements of many requests. Statements are sent in order, and those of one turn of the
 * event loop in one packet. The connection is borrowed from the pool for the first statement and returned after the
 * last. Only quick statements belong here, because a slow one delays all others. The first statement that misses its
 * deadline closes the connection, and the others on it fail.
 */
export class SharedConnection {
  readonly #connect: () => Promise<PoolClient>;
  #borrowed: Borrowed | undefined;

  constructor(connect: () => Promise<PoolClient>) {
    this.#connect = connect;
  }

  async use<T>(unit: PooledUnit, statement: (client: PoolClient) => Promise<T>): Promise<T> {
    const borrowed = (this.#borrowed ??= { client: this.#connect(), users: 0, isBroken: false, isGathering: false });
    borrowed.users += 1;
    try {
      const client = await unit.on(borrowed.client);
      borrowed.connected = client;
      gather(borrowed, client);
      return await statement(client);
    } catch (error) {
      if (isStoreUnavailable(error)) this.#forget(borrowed);
      throw error;
    } finally {
      borrowed.users -= 1;
      if (borrowed.users === 0) this.#giveBack(borrowed);
    }
  }

  /** No further statements use it; those that wait for a reply on it fail. */
  #forget(borrowed: Borrowed): void {
    borrowed.isBroken = true;
    if (this.#borrowed === borrowed) this.#borrowed = undefined;
  }

  #giveBack(borrowed: Borrowed): void {
    if (this.#borrowed === borrowed) this.#borrowed = undefined;
    const { client, connected, isBroken } = borrowed;
    if (connected !== undefined) connected.release(isBroken);
    // All users have stopped waiting for it.
    else
      void client.then(
        (late) => late.release(isBroken),
        () => undefined,
      );
  }
}

interface Borrowed {
  readonly client: Promise<PoolClient>;
  connected?: PoolClient;
  users: number;
  isBroken: boolean;
  /** Statements are collected and sent at the end of this turn. */
  isGathering: boolean;
}

function gather(borrowed: Borrowed, client: PoolClient): void {
  if (borrowed.isGathering) return;
  borrowed.isGathering = true;
  const stream = connectionStream(client);
  stream.cork();
  setImmediate(() => {
    borrowed.isGathering = false;
    stream.uncork();
  });
}
