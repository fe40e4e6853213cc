import { LRUCache } from "lru-cache";
import type { PoolConfig, QueryConfig } from "pg";
import type { Queryable } from "../../db/database.ts";
import { errorCode, isConnectionLost, isStoreUnavailable, storeFault } from "../../db/store-fault.ts";
import { StatementNames } from "../../db/statement-sending.ts";
import { Fault } from "../../lib/fault.ts";
import type { AccountCatalogs } from "./account-catalogs.ts";
import { limitResultSize } from "./limit-result-size.ts";
import { DrainingPool } from "./draining-pool.ts";
import type { MetastoreDatabases } from "./metastore-databases.ts";
import { isLoginRefused, isOutOfConnections } from "./open-connection.ts";

/** For one account. Each costs PostgreSQL some megabytes, so idle ones are closed. */
const CONNECTIONS = 2;
const LIMITS: PoolConfig = {
  max: CONNECTIONS,
  idleTimeoutMillis: 10_000,
  connectionTimeoutMillis: 10_000,
  // The database cancels statements earlier; this is for a server that does not answer at all.
  query_timeout: 70_000,
};
const ACCOUNT_CONCURRENCY = 16;

/** There is no database or no table yet: no Spark of the account has ever used the metastore. */
const NOT_CREATED = new Set(["3D000", "42P01"]);

export interface MetastoreReadersOptions {
  readonly databases: Pick<MetastoreDatabases, "readerOf" | "repair" | "makeRoom">;
  readonly catalogs: Pick<AccountCatalogs, "findPassword">;
}

/** Short, read-only queries in the databases of the metastores, each as its account's role. */
export class MetastoreReaders {
  readonly #options: MetastoreReadersOptions;
  readonly #pools = new LRUCache<number, DrainingPool>({
    max: ACCOUNT_CONCURRENCY,
    dispose: (pool) => void pool.end(),
  });

  readonly #repairs = new Map<number, Promise<boolean>>();
  readonly #names = new StatementNames();
  #isClosed = false;

  constructor(options: MetastoreReadersOptions) {
    this.#options = options;
  }

  /** While there is no database yet, queries return no rows. */
  of(accountId: number): Queryable {
    return { query: (text, values = []) => this.#query(accountId, { text, values: [...values] }) };
  }

  /** For statements whose plan does not depend on the values: they are prepared once for each connection. */
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

  /** A login that is refused, as after an import, is repaired once. */
  async #query<Row extends object>(accountId: number, query: QueryConfig): Promise<Row[]> {
    try {
      return await this.#read<Row>(accountId, query).catch(async (error: unknown) => {
        if (isOutOfConnections(error)) {
          await this.#options.databases.makeRoom(accountId);
          return this.#read<Row>(accountId, query);
        }
        if (!isLoginRefused(error)) throw error;
        return (await this.#repair(accountId)) ? this.#read<Row>(accountId, query) : [];
      });
    } catch (error) {
      if (NOT_CREATED.has(errorCode(error))) return [];
      throw isStoreUnavailable(error) ? storeFault(error) : error;
    }
  }

  /** Retries once for each idle connection that may have been lost unnoticed: reads are idempotent. */
  async #read<Row extends object>(accountId: number, query: QueryConfig): Promise<Row[]> {
    for (let lost = 0; ; lost += 1) {
      const pool = this.#pools.get(accountId) ?? (await this.#open(accountId));
      try {
        return pool === undefined ? [] : (await pool.query<Row>(query)).rows;
      } catch (error) {
        if (lost >= CONNECTIONS || !isConnectionLost(error)) throw error;
      }
    }
  }

  /** Concurrent callers share one repair. */
  #repair(accountId: number): Promise<boolean> {
    const { databases, catalogs } = this.#options;
    const repair = async (): Promise<boolean> => {
      const password = await catalogs.findPassword(accountId);
      return password !== undefined && databases.repair(accountId, password);
    };
    const repairing = this.#repairs.get(accountId) ?? repair().finally(() => this.#repairs.delete(accountId));
    this.#repairs.set(accountId, repairing);
    return repairing;
  }

  async #open(accountId: number): Promise<DrainingPool | undefined> {
    const { databases, catalogs } = this.#options;
    const password = await catalogs.findPassword(accountId);
    if (password === undefined) return undefined;
    const known = this.#pools.get(accountId); // opened by another query meanwhile
    if (known !== undefined) return known;
    if (this.#isClosed) throw new Fault("unavailable", "The server is about to stop. Try again.");
    // Read again for each connection, as it may have changed.
    const current = async (): Promise<string> => ((await catalogs.findPassword(accountId)) ?? password).reveal();
    const config = { ...databases.readerOf(accountId, password), ...LIMITS, password: current };
    const pool = new DrainingPool(config, (client) => limitResultSize(client));
    this.#pools.set(accountId, pool);
    return pool;
  }
}
