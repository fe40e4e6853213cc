/**
 * The only access to PostgreSQL. Slices get a client from `asAccount` (row-level security shows only that account's
 * rows) or from `asSystem` (the owner: identity checks, tasks and the operator). Connections are pipelined: statements
 * that are sent together cost one round trip, so `begin` is free, and so is the end of a read.
 */
import { Pool, type PoolClient, type PoolConfig } from "pg";
import { integersAsNumbers } from "./integers-as-numbers.ts";
import { inOneWrite, StatementNames } from "./statement-sending.ts";
import { DatabaseTimeout, OutageWatch } from "./outage-watch.ts";
import { FairConnections, PooledUnit, type Owner } from "./fair-connections.ts";
import { SharedConnection } from "./shared-connection.ts";
import {
  isConnectionLost,
  isStoreUnavailable,
  isTransactionAborted,
  storeFault,
  unknownOutcomeFault,
} from "./store-fault.ts";
import { backgroundWork, KEEP_ALIVE, type WorkLimits } from "./work-limits.ts";

export interface Queryable {
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/** A transaction. No other I/O than SQL may happen while it is open. */
export interface Tx extends Queryable {
  /**
   * Sends a statement without waiting for its result. A failure is reported when the transaction ends, and rolls it
   * back.
   */
  send(text: string, values?: readonly unknown[]): void;
}

export interface Database {
  asAccount<T>(accountId: number, work: (tx: Tx) => Promise<T>): Promise<T>;
  asSystem<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Single reads of one account, each in a transaction of its own and one round trip. */
  accountReader(accountId: number): Queryable;
  /** The same for reads that may take long, such as a late page of a history. */
  patientReader(accountId: number): Queryable;
  /**
   * The same for long statements whose best plan does not depend on their values: each connection plans them once,
   * because planning takes longer than finding the rows.
   */
  genericPlanReader(accountId: number): Queryable;
  /** Single statements of the owner, each in a transaction of its own. */
  readonly system: Queryable;
  /** The same for the quick statements of every request: they share a connection and are sent together. */
  readonly shared: Queryable;
  /** A second shared connection: a table lock that delays these statements must not delay token checks. */
  readonly sharedForSubmissions: Queryable;
  /** Used by /metrics and bench/. */
  stats(): DatabaseStats;
  close(): Promise<void>;
}

export interface DatabaseStats {
  connections: number;
  idle: number;
  waiting: number;
  /** How often a caller has waited for a reply since the start. */
  roundTrips: number;
}

export interface DatabaseOptions {
  /** The kind of work, which decides how long statements may take. */
  work?: WorkLimits;
  /** Shared by all pools of the same server. */
  watch?: OutageWatch;
}

export function openDatabase(connection: PoolConfig, options: DatabaseOptions = {}): Database {
  return new PooledDatabase(connection, options);
}

/** Idle connections that are never closed: opening one takes tens of milliseconds on a busy machine. */
const KEPT_CONNECTIONS = 2;

class PooledDatabase implements Database {
  readonly #pool: Pool;
  readonly #limits: WorkLimits;
  readonly #watch: OutageWatch;
  readonly #connections: FairConnections;
  readonly #statements = new StatementNames();
  #roundTrips = 0;

  readonly system: Queryable = { query: (text, values = []) => this.#systemStatement(text, values) };

  readonly shared = this.#sharedQueryable();
  readonly sharedForSubmissions = this.#sharedQueryable();

  constructor(connection: PoolConfig, { work = backgroundWork, watch }: DatabaseOptions) {
    this.#limits = work;
    this.#watch = watch ?? new OutageWatch(connection);
    this.#pool = new Pool({
      max: work.connections,
      min: KEPT_CONNECTIONS,
      pipeline: true,
      connectionTimeoutMillis: work.connectMs,
      idleTimeoutMillis: 10_000, // each costs PostgreSQL about 15 MB
      statement_timeout: work.statementMs,
      // Transactions do no I/O but SQL. One whose client is unreachable must not hold its locks for long.
      idle_in_transaction_session_timeout: 15_000,
      application_name: "headgate",
      types: integersAsNumbers,
      ...KEEP_ALIVE,
      ...connection,
    });
    this.#connections = new FairConnections(this.#pool, this.#watch);
    // If a connection breaks (PostgreSQL restarted), its statements fail and it is dropped. Without these listeners the
    // error event would end the process.
    this.#pool.on("error", () => undefined);
    this.#pool.on("connect", (client) => client.on("error", () => undefined));
  }

  asAccount<T>(accountId: number, work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#transaction(accountId, beginAsAccount(accountId), work);
  }

  asSystem<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#transaction("system", "begin", work);
  }

  accountReader(accountId: number): Queryable {
    return this.#reader(accountId, beginAsAccount(accountId));
  }

  patientReader(accountId: number): Queryable {
    const { patientStatementMs, patientUnitMs } = this.#limits;
    const begin = `${beginAsAccount(accountId)}; set local statement_timeout = ${patientStatementMs}`;
    return this.#reader(accountId, begin, patientUnitMs);
  }

  genericPlanReader(accountId: number): Queryable {
    return this.#reader(accountId, `${beginAsAccount(accountId)}; set local plan_cache_mode = force_generic_plan`);
  }

  #reader(owner: number, begin: string, limitMs = this.#limits.unitMs): Queryable {
    return { query: (text, values = []) => this.#readAsAccount({ owner, begin, limitMs }, text, values) };
  }

  stats(): DatabaseStats {
    const { totalCount, idleCount } = this.#pool;
    const { waiting } = this.#connections;
    return { connections: totalCount, idle: idleCount, waiting, roundTrips: this.#roundTrips };
  }

  async close(): Promise<void> {
    await this.#pool.end();
    this.#watch.close();
  }

  #transaction<T>(owner: Owner, begin: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#inUnit(async (unit) => this.#transactionOn(await this.#connections.take(unit, owner), begin, work));
  }

  async #transactionOn<T>(client: PoolClient, begin: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    // Statements sent without waiting. Their results are awaited before the transaction counts as committed.
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
    let isCommitSent = false;
    try {
      const result = await work(tx);
      this.#roundTrips += 1;
      held.push(() => client.query("commit"));
      isCommitSent = true;
      inOneWrite(client, sendHeld);
      await Promise.all(sent);
      return result;
    } catch (thrown) {
      const error = isTransactionAborted(thrown) ? await firstFailure(sent, thrown) : thrown;
      // A broken connection never replies, so there is nothing to roll back on it.
      isBroken = isStoreUnavailable(error) || !(await canRollBack(client));
      const isUnanswered = isConnectionLost(error) || error instanceof DatabaseTimeout;
      throw isCommitSent && isUnanswered ? unknownOutcomeFault(error) : error;
    } finally {
      client.release(isBroken);
    }
  }

  #readAsAccount<Row extends object>(
    { owner, begin, limitMs }: AccountRead,
    text: string,
    values: readonly unknown[],
  ): Promise<Row[]> {
    return this.#inUnit(async (unit) => {
      const client = await this.#connections.take(unit, owner);
      this.#roundTrips += 1;
      const [opened, rows, closed] = inOneWrite(client, () => [
        client.query(begin),
        this.#run<Row>(client, text, values),
        // After a failed statement this is a rollback; the connection is clean in both cases.
        client.query("commit"),
      ]);
      void Promise.allSettled([opened, rows, closed]).then(([, , close]) => {
        client.release(close.status === "rejected");
      });
      await opened;
      return rows;
    }, limitMs);
  }

  #systemStatement<Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]> {
    return this.#inUnit(async (unit) => {
      const client = await this.#connections.take(unit, "system");
      this.#roundTrips += 1;
      let isBroken = false;
      try {
        return await this.#run<Row>(client, text, values);
      } catch (error) {
        isBroken = isStoreUnavailable(error);
        throw error;
      } finally {
        client.release(isBroken);
      }
    });
  }

  #sharedQueryable(): Queryable {
    const connection = new SharedConnection(() => this.#inUnit((unit) => this.#connections.take(unit, "shared")));
    return {
      query: (text, values = []) => {
        this.#roundTrips += 1;
        return this.#inUnit((unit) => connection.use(unit, (client) => this.#run(client, text, values)));
      },
    };
  }

  async #inUnit<T>(work: (unit: PooledUnit) => Promise<T>, limitMs = this.#limits.unitMs): Promise<T> {
    let unit: PooledUnit | undefined;
    try {
      unit = new PooledUnit(this.#watch, limitMs);
      return await work(unit);
    } catch (error) {
      throw storeFault(error);
    } finally {
      unit?.end();
    }
  }

  async #run<Row extends object>(client: PoolClient, text: string, values: readonly unknown[]): Promise<Row[]> {
    const name = this.#statements.nameOf(text);
    const result = await client.query<Row>({ ...(name === undefined ? {} : { name }), text, values: [...values] });
    return result.rows;
  }
}

interface AccountRead {
  readonly owner: Owner;
  readonly begin: string;
  readonly limitMs: number;
}

/** The statements after a failed one only report that the transaction is aborted: the first failure has the reason. */
async function firstFailure(sent: readonly Promise<unknown>[], otherwise: unknown): Promise<unknown> {
  const failed = (await Promise.allSettled(sent)).find((outcome) => outcome.status === "rejected");
  return failed === undefined ? otherwise : failed.reason;
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
