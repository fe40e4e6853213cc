import type { PoolClient } from "pg";
import { connectionStream } from "./one-write.ts";
import { isStoreAway } from "./store-fault.ts";

/**
 * One connection for the short statements of many requests: they are sent one behind the other, those of one turn of
 * the event loop in one packet. It is borrowed from the pool for the first of them and given back behind the last, so
 * one request alone is served as ever. A slow statement would hold up all others: only quick ones belong here.
 */
export class SharedConnection {
  readonly #connect: () => Promise<PoolClient>;
  #borrowed: Borrowed | undefined;

  constructor(connect: () => Promise<PoolClient>) {
    this.#connect = connect;
  }

  async use<T>(statement: (client: PoolClient) => Promise<T>): Promise<T> {
    const borrowed = (this.#borrowed ??= { client: this.#connect(), users: 0, isBroken: false, isGathering: false });
    borrowed.users += 1;
    try {
      const client = await borrowed.client;
      gather(borrowed, client);
      return await statement(client);
    } catch (error) {
      if (isStoreAway(error)) this.#forget(borrowed);
      throw error;
    } finally {
      borrowed.users -= 1;
      if (borrowed.users === 0) await this.#giveBack(borrowed);
    }
  }

  /** Nobody else gets to use it; whoever waits for an answer on it fails. */
  #forget(borrowed: Borrowed): void {
    borrowed.isBroken = true;
    if (this.#borrowed === borrowed) this.#borrowed = undefined;
  }

  async #giveBack(borrowed: Borrowed): Promise<void> {
    if (this.#borrowed === borrowed) this.#borrowed = undefined;
    const client = await borrowed.client.catch(() => undefined);
    client?.release(borrowed.isBroken);
  }
}

interface Borrowed {
  readonly client: Promise<PoolClient>;
  users: number;
  isBroken: boolean;
  /** What is sent now leaves at the end of this turn. */
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
