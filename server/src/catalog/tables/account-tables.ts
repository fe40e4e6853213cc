import { LRUCache } from "lru-cache";
import type { Queryable } from "../../db/database.ts";
import type { TableColumn } from "../../engines/hive-tables/table-columns.ts";
import { notFound } from "../../lib/fault.ts";
import type { MetastoreReaders } from "../metastores/metastore-readers.ts";
import { findCatalog } from "../metastores/store/metastore.ts";
import type { KnownKeys } from "./query-own-partitions.ts";
import type { ExternalMetastores } from "./external-metastores.ts";
import { ListingSlots } from "./listing-slots.ts";
import { NO_TABLES, OwnTables } from "./own-tables.ts";
import type { PartitionAnswer, PartitionQuestion } from "./partition-question.ts";
import type { TableCatalog } from "./table-catalog.ts";

export interface WithAccountTables {
  accountTables: AccountTables;
}

export interface AccountTablesOptions {
  readonly system: Queryable;
  readonly readers: MetastoreReaders;
  readonly externals: ExternalMetastores;
}

const KEYS_REMEMBERED = 2000;
/** In characters. The keys of a table that exceed it are not cached. */
const KEYS_SIZE = { maxSize: 8 * 1024 * 1024, maxEntrySize: 64 * 1024 };
const ACCOUNTS_REMEMBERED = 2000;

/** Opens the catalog of an account: our metastore's database or an external metastore. Starts no JVM. */
export class AccountTables {
  readonly listings = new ListingSlots();
  readonly #options: AccountTablesOptions;
  /** The partition keys of tables, by account and name. */
  readonly #keys = new LRUCache<string, readonly TableColumn[]>({
    max: KEYS_REMEMBERED,
    ...KEYS_SIZE,
    sizeCalculation: (keys) => keys.reduce((size, { name, type }) => size + name.length + type.length, 1),
  });
  /** Accounts whose tables were in a metastore of ours at the last request. */
  readonly #ours = new LRUCache<number, true>({ max: ACCOUNTS_REMEMBERED });

  constructor(options: AccountTablesOptions) {
    this.#options = options;
  }

  async of(accountId: number): Promise<TableCatalog> {
    const { system, externals } = this.#options;
    const catalog = await findCatalog(system, accountId);
    if (catalog === undefined) throw notFound("Account", accountId);
    if (catalog.externalUri === null && catalog.sealed !== null) {
      this.#ours.set(accountId, true);
      return this.#own(accountId);
    }
    this.#ours.delete(accountId);
    if (catalog.externalUri === null) return NO_TABLES;
    const [client, { ExternalTables }] = await Promise.all([
      externals.of(accountId, catalog.externalUri),
      import("./external-tables.ts"),
    ]);
    return new ExternalTables(client);
  }

  /**
   * Same as `hasPartitions` of the account's catalog, with one round trip less: where the tables were in a metastore of
   * ours the last time, it is queried while we check that they still are.
   */
  async hasPartitions(accountId: number, questions: readonly PartitionQuestion[]): Promise<PartitionAnswer[]> {
    const early = this.#ours.has(accountId) ? this.#own(accountId).hasPartitions(questions) : undefined;
    early?.catch(() => undefined); // rethrown below if the result is used
    const tables = await this.of(accountId);
    return early !== undefined && tables instanceof OwnTables ? early : tables.hasPartitions(questions);
  }

  #own(accountId: number): OwnTables {
    const { readers } = this.#options;
    const knownKeys: KnownKeys = {
      get: (table) => this.#keys.get(`${accountId} ${table}`),
      set: (table, keys) => this.#keys.set(`${accountId} ${table}`, keys),
    };
    return new OwnTables(readers.of(accountId), { lookups: readers.lookups(accountId), knownKeys });
  }
}
