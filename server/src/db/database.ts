import { Pool, types, type PoolClient, type PoolConfig } from "pg";
import { storeFault } from "./store-fault.ts";

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
  /** Connections in use, waiting requests, and statements sent so far: for /metrics and bench/. */
  stats(): { connections: number; idle: number; waiting: number; roundTrips: number };
  close(): Promise<void>;
}

const INT8_OID = 20;
const MAX_NAMED_STATEMENTS = 500;

export function openDatabase(connection: PoolConfig): Database {
  const pool = new Pool({
    max: 16,
    pipeline: true,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 60_000,
    statement_timeout: 30_000,
    idle_in_transaction_session_timeout: 60_000,
    application_name: "headgate",
    types: { getTypeParser: (oid, format) => (oid === INT8_OID ? Number : types.getTypeParser(oid, format)) },
    ...connection,
  });
  // An idle connection that breaks (PostgreSQL restarted) is dropped by the pool; the next request opens another.
  pool.on("error", () => undefined);
  const statements = new StatementNames();
  let roundTrips = 0;

  async function run<Row extends object>(client: PoolClient, text: string, values: readonly unknown[]): Promise<Row[]> {
    const result = await client.query<Row>({ ...statements.name(text), text, values: [...values] });
    return result.rows;
  }

  async function transaction<T>(open: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    const client = await pool.connect().catch(rethrow);
    let broken: unknown;
    // `begin` and everything sent with `send` is awaited at the end; until then a rejection must have a listener.
    const sent: Promise<unknown>[] = [client.query(open)];
    const settled = (): Promise<unknown> => Promise.all(sent);
    settled().catch(() => undefined);
    const tx: Tx = {
      query: (text, values = []) => {
        roundTrips += 1;
        return run(client, text, values);
      },
      send: (text, values = []) => {
        const answer = run(client, text, values);
        answer.catch(() => undefined);
        sent.push(answer);
      },
    };
    try {
      const result = await work(tx);
      roundTrips += 1;
      const committed = client.query("commit");
      committed.catch(() => undefined);
      await settled();
      await committed;
      return result;
    } catch (error) {
      await client.query("rollback").catch((rollbackError: unknown) => {
        broken = rollbackError;
      });
      throw storeFault(error);
    } finally {
      client.release(broken instanceof Error);
    }
  }

  async function readOnce<Row extends object>(
    accountId: number,
    text: string,
    values: readonly unknown[],
  ): Promise<Row[]> {
    const client = await pool.connect().catch(rethrow);
    roundTrips += 1;
    const opened = client.query(openAccount(accountId));
    const rows = run<Row>(client, text, values);
    // After a failed statement this is a rollback; either way the connection is clean again.
    const closed = client.query("commit");
    const all = Promise.allSettled([opened, rows, closed]);
    void all.then(([, , close]) => {
      client.release(close.status === "rejected");
    });
    try {
      await opened;
      return await rows;
    } catch (error) {
      throw storeFault(error);
    }
  }

  return {
    asAccount: (accountId, work) => transaction(openAccount(accountId), work),
    asSystem: (work) => transaction("begin", work),
    accountReader: (accountId) => ({ query: (text, values = []) => readOnce(accountId, text, values) }),
    system: {
      async query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
        const client = await pool.connect().catch(rethrow);
        roundTrips += 1;
        let failed = true;
        try {
          const rows = await run<Row>(client, text, values);
          failed = false;
          return rows;
        } catch (error) {
          const fault = storeFault(error);
          failed = fault !== error;
          throw fault;
        } finally {
          client.release(failed);
        }
      },
    },
    stats: () => ({
      connections: pool.totalCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
      roundTrips,
    }),
    close: () => pool.end(),
  };
}

function openAccount(accountId: number): string {
  if (!Number.isSafeInteger(accountId)) throw new TypeError("account id must be an integer");
  return `begin; set local role headgate_account; set local headgate.account_id = ${accountId}`;
}

function rethrow(error: unknown): never {
  throw storeFault(error);
}

/**
 * Statements are text constants, so each is prepared once per connection. The number is bounded: a statement built
 * from parts would otherwise fill the server's memory with plans.
 */
class StatementNames {
  readonly #names = new Map<string, string>();

  name(text: string): { name?: string } {
    let name = this.#names.get(text);
    if (name === undefined) {
      if (this.#names.size >= MAX_NAMED_STATEMENTS) return {};
      name = `s${this.#names.size + 1}`;
      this.#names.set(text, name);
    }
    return { name };
  }
}
