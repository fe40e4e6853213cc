import { LRUCache } from "lru-cache";
import type { Queryable } from "../../db/database.ts";
import type { HiveClient } from "../../engines/hive-thrift/hive-client.ts";
import { notFound } from "../../lib/fault.ts";
import { addressRefusal } from "../../lib/network-policy.ts";
import type { MetastoreReaders } from "../metastores/metastore-readers.ts";
import { findCatalog } from "../metastores/store/metastore.ts";
import { NO_TABLES } from "./no-tables.ts";
import { OwnTables } from "./own-tables.ts";
import type { TableCatalog } from "./table-catalog.ts";

export interface WithAccountTables {
  accountTables: AccountTables;
}

export interface AccountTablesOptions {
  readonly system: Queryable;
  readonly readers: MetastoreReaders;
  readonly allowedNetworks: readonly string[];
}

const CLIENTS_AT_ONCE = 16;

/** Finds where an account's tables are known. Nothing of Java is started for it. */
export class AccountTables {
  readonly #options: AccountTablesOptions;
  /** By account and address: what one account may reach is not known by another's. */
  readonly #clients = new LRUCache<string, HiveClient>({ max: CLIENTS_AT_ONCE, dispose: (client) => client.close() });

  constructor(options: AccountTablesOptions) {
    this.#options = options;
  }

  async of(accountId: number): Promise<TableCatalog> {
    const catalog = await findCatalog(this.#options.system, accountId);
    if (catalog === undefined) throw notFound();
    if (catalog.externalUri !== null) return this.#external(accountId, catalog.externalUri);
    return catalog.sealed === null ? NO_TABLES : new OwnTables(this.#options.readers.of(accountId));
  }

  close(): void {
    this.#clients.clear();
  }

  /** Of several addresses of one metastore the first, as Spark takes them by default. */
  async #external(accountId: number, uris: string): Promise<TableCatalog> {
    const { allowedNetworks } = this.#options;
    const { hostname: host, port } = new URL(
      uris
        .split(",", 1)[0]
        ?.trim()
        .replace(/^thrift:/i, "http:") ?? "",
    );
    const key = `${accountId} ${host}:${port}`;
    // Loaded with the first use: most installations have no metastore of others.
    const [{ HiveClient: Client }, { ExternalTables }] = await Promise.all([
      import("../../engines/hive-thrift/hive-client.ts"),
      import("./external-tables.ts"),
    ]);
    const client =
      this.#clients.get(key) ??
      new Client({
        host: host.replace(/^\[(.*)\]$/, "$1"),
        port: Number(port === "" ? 80 : port),
        user: `account${accountId}`,
        checkAddress: (address) => addressRefusal(address, allowedNetworks) ?? null,
      });
    this.#clients.set(key, client);
    return new ExternalTables(client);
  }
}
