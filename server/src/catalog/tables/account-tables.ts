import { LRUCache } from "lru-cache";
import type { Queryable } from "../../db/database.ts";
import type { TableColumn } from "../../engines/hive-tables/table-columns.ts";
import { notFound } from "../../lib/fault.ts";
import type { MetastoreReaders } from "../metastores/metastore-readers.ts";
import { findCatalog } from "../metastores/store/metastore.ts";
import type { KnownKeys } from "./ask-own-partitions.ts";
import type { ExternalMetastores } from "./external-metastores.ts";
import { NO_TABLES } from "./no-tables.ts";
import { OwnTables } from "./own-tables.ts";
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

/** Finds where an account's tables are known. Nothing of Java is started for it. */
export class AccountTables {
  readonly #options: AccountTablesOptions;
  /** What tables are partitioned by, by account and name. */
  readonly #keys = new LRUCache<string, readonly TableColumn[]>({ max: KEYS_REMEMBERED });

  constructor(options: AccountTablesOptions) {
    this.#options = options;
  }

  async of(accountId: number): Promise<TableCatalog> {
    const { system, externals } = this.#options;
    const catalog = await findCatalog(system, accountId);
    if (catalog === undefined) throw notFound();
    if (catalog.externalUri === null) return catalog.sealed === null ? NO_TABLES : this.#own(accountId);
    const [client, { ExternalTables }] = await Promise.all([
      externals.of(accountId, catalog.externalUri),
      import("./external-tables.ts"),
    ]);
    return new ExternalTables(client);
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
