import { LRUCache } from "lru-cache";
import { Pool, type PoolConfig, type QueryConfig } from "pg";
import type { Queryable } from "../../db/database.ts";
import { StatementNames } from "../../db/statement-names.ts";
import { isStoreAway, storeFault } from "../../db/store-fault.ts";
import type { MetastoreDatabases } from "./metastore-databases.ts";
import { codeOf } from "./store/metastore-database.ts";

/** Of one account; each costs PostgreSQL some megabytes, so idle ones do not stay. */
const LIMITS: PoolConfig = { max: 2, idleTimeoutMillis: 10_000, connectionTimeoutMillis: 10_000 };
const ACCOUNTS_AT_ONCE = 16;

/** No database yet, no role, no tables in it: no Spark of the account has ever needed it. */
const NOT_MADE = new Set(["3D000", "28000", "22023", "42704", "42P01"]);

/** Short reads in the databases of the metastores, each with the rights of its account's role and none to write. */
export class MetastoreReaders {
  readonly #databases: Pick<MetastoreDatabases, "readerOf">;
  readonly #pools = new LRUCache<number, Pool>({
    max: ACCOUNTS_AT_ONCE,
    dispose: (pool) => void pool.end(),
  });

  readonly #names = new StatementNames();

  constructor(databases: Pick<MetastoreDatabases, "readerOf">) {
    this.#databases = databases;
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
    const pools = [...this.#pools.values()];
    await Promise.all(pools.map((pool) => pool.end()));
  }

  async #query<Row extends object>(accountId: number, query: QueryConfig): Promise<Row[]> {
    try {
      const { rows } = await this.#pool(accountId).query<Row>(query);
      return rows;
    } catch (error) {
      if (NOT_MADE.has(codeOf(error))) return [];
      throw isStoreAway(error) ? storeFault(error) : error;
    }
  }

  #pool(accountId: number): Pool {
    const known = this.#pools.get(accountId);
    if (known !== undefined) return known;
    const pool = new Pool({ ...this.#databases.readerOf(accountId), ...LIMITS });
    // A connection that breaks fails its query; without these listeners it would end the process.
    pool.on("error", () => undefined);
    pool.on("connect", (client) => client.on("error", () => undefined));
    this.#pools.set(accountId, pool);
    return pool;
  }
}
