import { limitConcurrency } from "../../lib/limit-concurrency.ts";
import type { Secret } from "../../lib/secret.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import type { CallGate, KeepAnswer } from "./call-gate.ts";
import type { Fields, ThriftType } from "./codec/thrift-type.ts";
import { Connection, ConnectionLost, type Address, type CallLimits } from "./connection.ts";
import { failureOf, HandshakeRefused } from "./failure.ts";
import { type HiveFunction, type ParametersOf, type ResultOf, setUgi } from "./hive-functions.ts";

export interface PoolOptions extends Address, Partial<PoolLimits> {
  /** Our user name, which metastores without Kerberos do not verify. */
  readonly user: string;
  /** For our own metastores: both sides prove that they know it. */
  readonly secret?: Secret | undefined;
  /** Shared with other pools. */
  readonly gate?: CallGate | undefined;
}

export interface PoolLimits {
  readonly maxConnections: number;
  /** Time after which an idle connection is closed. */
  readonly idleMs: number;
  readonly connectTimeoutMs: number;
  /** Applies in addition to the caller's signal. */
  readonly callTimeoutMs: number;
  /** Limit for the size of an answer, including the memory of its values. */
  readonly budgetBytes: number;
}

const defaults: PoolLimits = {
  maxConnections: 4,
  idleMs: 30_000,
  connectTimeoutMs: 10_000,
  callTimeoutMs: 300_000,
  budgetBytes: 256 * 1024 * 1024,
};

const handshakeBudgetBytes = 64 * 1024;

interface CallOptions {
  readonly budgetBytes?: number | undefined;
  readonly keep?: KeepAnswer | undefined;
}

/**
 * A limited number of connections to one metastore. The most recently used one is taken first, so that surplus ones
 * become idle and are closed. The limit covers idle connections and running calls together.
 */
export class ConnectionPool {
  readonly #options: PoolOptions & PoolLimits;
  readonly #inTurn: ReturnType<typeof limitConcurrency>;
  readonly #idle = new Map<Connection, NodeJS.Timeout>();
  #isClosed = false;

  constructor(options: PoolOptions) {
    this.#options = { ...defaults, ...options };
    this.#inTurn = limitConcurrency(this.#options.maxConnections);
  }

  get maxConnections(): number {
    return this.#options.maxConnections;
  }

  async call<A extends Fields, T extends ThriftType | null>(
    called: HiveFunction<A, T>,
    values: ParametersOf<A>,
    signal: AbortSignal,
    { budgetBytes: requestedBytes = this.#options.budgetBytes, keep }: CallOptions = {},
  ): Promise<ResultOf<T>> {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(this.#options.callTimeoutMs)]);
    const budgetBytes = Math.min(requestedBytes, this.#options.budgetBytes);
    try {
      const work = this.#inTurn(() => this.#callAdmitted(called, values, { signal: deadline, budgetBytes }, keep));
      return await unlessAborted(deadline, work);
    } catch (error) {
      throw failureOf(error, this.#options);
    }
  }

  /** Closes idle connections now, and the others when their calls end. */
  close(): void {
    this.#isClosed = true;
    for (const connection of this.#idle.keys()) this.#end(connection);
  }

  async #callAdmitted<A extends Fields, T extends ThriftType | null>(
    called: HiveFunction<A, T>,
    values: ParametersOf<A>,
    limits: CallLimits,
    keep: KeepAnswer = (held) => held.release(),
  ): Promise<ResultOf<T>> {
    limits.signal.throwIfAborted();
    const admitted = await this.#options.gate?.enter(limits.signal);
    if (admitted === undefined) return this.#callInTurn(called, values, limits);
    try {
      const result = await this.#callInTurn(called, values, { ...limits, pay: (bytes) => admitted.pay(bytes) });
      admitted.end();
      keep(admitted);
      return result;
    } catch (error) {
      admitted.release();
      throw error;
    }
  }

  /** If an idle connection turns out to be dead, repeats reads on a new connection. */
  async #callInTurn<A extends Fields, T extends ThriftType | null>(
    called: HiveFunction<A, T>,
    values: ParametersOf<A>,
    limits: CallLimits,
  ): Promise<ResultOf<T>> {
    limits.signal.throwIfAborted();
    const idle = this.#takeIdle();
    if (idle !== undefined) {
      try {
        return await this.#callOn(idle, called, values, limits);
      } catch (error) {
        const isDead = error instanceof ConnectionLost && error.isUnanswered;
        if (!isDead || !called.isRead) throw error;
      }
    }
    return this.#callOn(await this.#open(limits.signal), called, values, limits);
  }

  async #callOn<A extends Fields, T extends ThriftType | null>(
    connection: Connection,
    called: HiveFunction<A, T>,
    values: ParametersOf<A>,
    limits: CallLimits,
  ): Promise<ResultOf<T>> {
    try {
      return await connection.call(called, values, limits);
    } finally {
      this.#putBack(connection);
    }
  }

  async #open(signal: AbortSignal): Promise<Connection> {
    const { user, secret, connectTimeoutMs } = this.#options;
    const soon = AbortSignal.any([signal, AbortSignal.timeout(connectTimeoutMs)]);
    const connection = await Connection.open(this.#options, soon, secret);
    if (secret !== undefined) return connection;
    try {
      const limits = { signal: soon, budgetBytes: handshakeBudgetBytes };
      await connection.call(setUgi, { userName: user, groupNames: [] }, limits);
    } catch (error) {
      connection.destroy();
      throw error instanceof ConnectionLost ? new HandshakeRefused(error) : error;
    }
    return connection;
  }

  #takeIdle(): Connection | undefined {
    for (const connection of [...this.#idle.keys()].toReversed()) {
      clearTimeout(this.#idle.get(connection));
      this.#idle.delete(connection);
      if (!connection.isUsable) continue;
      connection.keepAlive(true);
      return connection;
    }
    return undefined;
  }

  #putBack(connection: Connection): void {
    if (!connection.isUsable || this.#isClosed) {
      connection.destroy();
      return;
    }
    connection.keepAlive(false);
    this.#idle.set(connection, setTimeout(() => this.#end(connection), this.#options.idleMs).unref());
  }

  #end(connection: Connection): void {
    clearTimeout(this.#idle.get(connection));
    this.#idle.delete(connection);
    connection.destroy();
  }
}
