import { LRUCache } from "lru-cache";
import type { PoolConfig, QueryConfig } from "pg";
import type { Queryable } from "../../db/database.ts";
import { errorCode } from "../../db/error-code.ts";
import { StatementNames } from "../../db/statement-names.ts";
import { isConnectionLost, isStoreAway, storeFault } from "../../db/store-fault.ts";
import { Fault } from "../../lib/fault.ts";
import type { AccountCatalogs } from "./account-catalogs.ts";
import { boundAnswers } from "./bounded-answers.ts";
import { DrainingPool } from "./draining-pool.ts";
import type { MetastoreDatabases } from "./metastore-databases.ts";
import { isLoginRefused, isOutOfConnections } from "./open-connection.ts";

/** Of one account; each costs PostgreSQL some megabytes, so idle ones do not stay. */
const CONNECTIONS = 2;
const LIMITS: PoolConfig = {
  max: CONNECTIONS,
  idleTimeoutMillis: 10_000,
  connectionTimeoutMillis: 10_000,
  // The database ends statements sooner; this is for one that does not answer at all.
  query_timeout: 70_000,
};
const ACCOUNTS_AT_ONCE = 16;

/** No database yet, no tables in it: no Spark of the account has ever needed it. */
const NOT_MADE = new Set(["3D000", "42P01"]);

export interface MetastoreReadersOptions {
  readonly databases: Pick<MetastoreDatabases, "readerOf" | "mend" | "makeRoom">;
  readonly catalogs: Pick<AccountCatalogs, "findPassword">;
}

/** Short reads in the databases of the metastores, each as its account's role and without a right to write. */
export class MetastoreReaders {
  readonly #options: MetastoreReadersOptions;
  readonly #pools = new LRUCache<number, DrainingPool>({
    max: ACCOUNTS_AT_ONCE,
    dispose: (pool) => void pool.end(),
  });

  readonly #mending = new Map<number, Promise<boolean>>();
  readonly #names = new StatementNames();
  #isClosed = false;

  constructor(options: MetastoreReadersOptions) {
    this.#options = options;
  }

  /** While nothing is made yet its queries find no rows. */
  of(accountId: number): Queryable {
    return { query: (text, values = []) => this.#query(accountId, { text, values: [...values] }) };
  }

  /** The same for statements whose plan is good whatever the values are: it is made once for each connection. */
  lookups(accountId: number): Queryable {
    return {
      query: (text, values = []) => {
        const name = this.#names.nameOf(text);
        return this.#query(accountId, { ...(name === undefined ? {} : { name }), text, values: [...values] });
      },
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    await Promise.all(pools.map((pool) => pool.end()));
  }

  /** A login that is refused, as behind an import, is made what it should be, once. */
  async #query<Row extends object>(accountId: number, query: QueryConfig): Promise<Row[]> {
    try {
      return await this.#ask<Row>(accountId, query).catch(async (error: unknown) => {
        if (isOutOfConnections(error)) {
          await this.#options.databases.makeRoom(accountId);
          return this.#ask<Row>(accountId, query);
        }
        if (!isLoginRefused(error)) throw error;
        return (await this.#mend(accountId)) ? this.#ask<Row>(accountId, query) : [];
      });
    } catch (error) {
      if (NOT_MADE.has(errorCode(error))) return [];
      throw isStoreAway(error) ? storeFault(error) : error;
    }
  }

  /** Once more for each idle connection that may have died unnoticed: two reads are as good as one. */
  async #ask<Row extends object>(accountId: number, query: QueryConfig): Promise<Row[]> {
    for (let lost = 0; ; lost += 1) {
      const pool = this.#pools.get(accountId) ?? (await this.#open(accountId));
      try {
        return pool === undefined ? [] : (await pool.query<Row>(query)).rows;
      } catch (error) {
        if (lost >= CONNECTIONS || !isConnectionLost(error)) throw error;
      }
    }
  }

  /** Once for all who have found it refused. */
  #mend(accountId: number): Promise<boolean> {
    const { databases, catalogs } = this.#options;
    const mend = async (): Promise<boolean> => {
      const password = await catalogs.findPassword(accountId);
      return password !== undefined && databases.mend(accountId, password);
    };
    const mending = this.#mending.get(accountId) ?? mend().finally(() => this.#mending.delete(accountId));
    this.#mending.set(accountId, mending);
    return mending;
  }

  async #open(accountId: number): Promise<DrainingPool | undefined> {
    const { databases, catalogs } = this.#options;
    const password = await catalogs.findPassword(accountId);
    if (password === undefined) return undefined;
    const known = this.#pools.get(accountId); // by another query, meanwhile
    if (known !== undefined) return known;
    if (this.#isClosed) throw new Fault("unavailable", "The server is about to stop. Try again.");
    // As it is at the time of a connection.
    const current = async (): Promise<string> => ((await catalogs.findPassword(accountId)) ?? password).reveal();
    const config = { ...databases.readerOf(accountId, password), ...LIMITS, password: current };
    const pool = new DrainingPool(config, (client) => boundAnswers(client));
    this.#pools.set(accountId, pool);
    return pool;
  }
}
