import { Pool, types, type CustomTypesConfig, type PoolClient, type PoolConfig } from "pg";
import { inOneWrite } from "./one-write.ts";
import { SharedConnection } from "./shared-connection.ts";
import { StatementNames } from "./statement-names.ts";
import { isStoreAway, storeFault } from "./store-fault.ts";

/**
 * The only door to PostgreSQL. Slices get a client from `asAccount` (row-level security shows that account's rows and
 * nothing else) or from `asSystem` (the owner: identity checks, tasks and the operator). Connections are pipelined:
 * what is sent together costs one round trip, so opening a transaction is free and closing a read is, too.
 */
export interface Queryable {
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/** A transaction. No I/O but SQL may happen while one is open. */
export interface Tx extends Queryable {
  /** Sends without waiting for the answer; a failure surfaces when the transaction ends, and undoes it. */
  send(text: string, values?: readonly unknown[]): void;
}

export interface Database {
  asAccount<T>(accountId: number, work: (tx: Tx) => Promise<T>): Promise<T>;
  asSystem<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Single reads of one account, each its own transaction in one round trip. */
  accountReader(accountId: number): Queryable;
  /** Single statements of the owner, each its own transaction. */
  readonly system: Queryable;
  /** The same for quick statements that every request asks: they share a connection, and leave together. */
  readonly shared: Queryable;
  /** For /metrics and bench/. */
  stats(): DatabaseStats;
  close(): Promise<void>;
}

export interface DatabaseStats {
  connections: number;
  idle: number;
  waiting: number;
  /** Since the start: how often somebody waited for an answer. */
  roundTrips: number;
}

export function openDatabase(connection: PoolConfig): Database {
  return new PooledDatabase(connection);
}

class PooledDatabase implements Database {
  readonly #pool: Pool;
  readonly #statements = new StatementNames();
  #roundTrips = 0;

  readonly system: Queryable = { query: (text, values = []) => this.#systemStatement(text, values) };

  readonly shared: Queryable = { query: (text, values = []) => this.#sharedStatement(text, values) };
  readonly #sharedConnection = new SharedConnection(() => this.#pool.connect());

  constructor(connection: PoolConfig) {
    this.#pool = new Pool({
      max: 16,
      pipeline: true,
      connectionTimeoutMillis: 5_000,
      idleTimeoutMillis: 10_000, // each costs PostgreSQL some 15 MB
      statement_timeout: 30_000,
      query_timeout: 40_000, // of a server that does not even answer with its own timeout
      idle_in_transaction_session_timeout: 60_000,
      application_name: "headgate",
      types: integersAsNumbers,
      ...connection,
    });
    // A connection that breaks (PostgreSQL restarted), idle or in use, fails its statements and is dropped; without
    // these listeners it would end the process.
    this.#pool.on("error", () => undefined);
    this.#pool.on("connect", (client) => client.on("error", () => undefined));
  }

  asAccount<T>(accountId: number, work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#transaction(beginAsAccount(accountId), work);
  }

  asSystem<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#transaction("begin", work);
  }

  accountReader(accountId: number): Queryable {
    return { query: (text, values = []) => this.#readAsAccount(accountId, text, values) };
  }

  stats(): DatabaseStats {
    const { totalCount, idleCount, waitingCount } = this.#pool;
    return { connections: totalCount, idle: idleCount, waiting: waitingCount, roundTrips: this.#roundTrips };
  }

  close(): Promise<void> {
    return this.#pool.end();
  }

  async #transaction<T>(begin: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    const client = await this.#connect();
    // What nobody waits for: sent with the next statement or the commit, settled before the transaction counts as done.
    const sent: Promise<unknown>[] = [];
    let held: (() => Promise<unknown>)[] = [() => client.query(begin)];
    const sendHeld = (): void => {
      for (const answer of held.map((send) => send())) {
        answer.catch(() => undefined);
        sent.push(answer);
      }
      held = [];
    };
    const tx: Tx = {
      query: (text, values = []) => {
        this.#roundTrips += 1;
        return inOneWrite(client, () => {
          sendHeld();
          return this.#run(client, text, values);
        });
      },
      send: (text, values = []) => {
        held.push(() => this.#run(client, text, values));
      },
    };
    let isBroken = false;
    try {
      const result = await work(tx);
      this.#roundTrips += 1;
      held.push(() => client.query("commit"));
      inOneWrite(client, sendHeld);
      await Promise.all(sent);
      return result;
    } catch (error) {
      // A broken connection never answers: there is nothing left to roll back on it.
      isBroken = isStoreAway(error) || !(await canRollBack(client));
      throw storeFault(error);
    } finally {
      client.release(isBroken);
    }
  }

  async #readAsAccount<Row extends object>(
    accountId: number,
    text: string,
    values: readonly unknown[],
  ): Promise<Row[]> {
    const client = await this.#connect();
    this.#roundTrips += 1;
    const [opened, rows, closed] = inOneWrite(client, () => [
      client.query(beginAsAccount(accountId)),
      this.#run<Row>(client, text, values),
      // After a failed statement this is a rollback; either way the connection is clean again.
      client.query("commit"),
    ]);
    void Promise.allSettled([opened, rows, closed]).then(([, , close]) => {
      client.release(close.status === "rejected");
    });
    try {
      await opened;
      return await rows;
    } catch (error) {
      throw storeFault(error);
    }
  }

  async #systemStatement<Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]> {
    const client = await this.#connect();
    this.#roundTrips += 1;
    let isBroken = false;
    try {
      return await this.#run<Row>(client, text, values);
    } catch (error) {
      isBroken = isStoreAway(error);
      throw storeFault(error);
    } finally {
      client.release(isBroken);
    }
  }

  async #sharedStatement<Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]> {
    this.#roundTrips += 1;
    try {
      return await this.#sharedConnection.use((client) => this.#run<Row>(client, text, values));
    } catch (error) {
      throw storeFault(error);
    }
  }

  async #connect(): Promise<PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      throw storeFault(error);
    }
  }

  async #run<Row extends object>(client: PoolClient, text: string, values: readonly unknown[]): Promise<Row[]> {
    const name = this.#statements.nameOf(text);
    const result = await client.query<Row>({ ...(name === undefined ? {} : { name }), text, values: [...values] });
    return result.rows;
  }
}

async function canRollBack(client: PoolClient): Promise<boolean> {
  try {
    await client.query("rollback");
    return true;
  } catch {
    return false;
  }
}

function beginAsAccount(accountId: number): string {
  if (!Number.isSafeInteger(accountId)) throw new TypeError("account id must be an integer");
  return `begin; set local role headgate_account; set local headgate.account_id = ${accountId}`;
}

/** Ids and counts are bigint in the store and stay exact as numbers up to 2^53. */
const integersAsNumbers: CustomTypesConfig = {
  getTypeParser: (oid, format) => {
    if (oid === types.builtins.INT8) return Number;
    return types.getTypeParser(oid, format) as (text: string) => unknown; // typed `any` by the driver
  },
};
