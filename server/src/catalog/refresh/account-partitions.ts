import type { Client } from "pg";
import type { Queryable } from "../../db/database.ts";
import type { AccountCatalogs } from "../metastores/account-catalogs.ts";
import type { MetastoreDatabases } from "../metastores/metastore-databases.ts";
import type { MetastoreReaders } from "../metastores/metastore-readers.ts";
import { findCatalog } from "../metastores/store/metastore.ts";
import type { ExternalMetastores } from "../tables/external-metastores.ts";
import { OwnPartitions } from "./own-partitions.ts";
import { tableIsGone, type OpenTablePartitions } from "./table-partitions.ts";

export interface AccountPartitionsOptions {
  readonly system: Queryable;
  readonly databases: Pick<MetastoreDatabases, "connect">;
  readonly catalogs: Pick<AccountCatalogs, "findPassword">;
  readonly readers: MetastoreReaders;
  readonly externals: ExternalMetastores;
}

/** Opens the partitions of a table, in our metastore's database or an external metastore. Starts no JVM. */
export function accountPartitions({
  system,
  databases,
  catalogs,
  readers,
  externals,
}: AccountPartitionsOptions): OpenTablePartitions {
  return async (accountId, table) => {
    const catalog = await findCatalog(system, accountId);
    if (catalog === undefined) throw tableIsGone(table);
    if (catalog.externalUri === null) {
      const connect = async (): Promise<Client> => {
        const password = await catalogs.findPassword(accountId);
        if (password === undefined) throw tableIsGone(table);
        return databases.connect(accountId, password);
      };
      return new OwnPartitions({ reader: readers.of(accountId), connect }, table);
    }
    const [client, { ExternalPartitions }] = await Promise.all([
      externals.of(accountId, catalog.externalUri),
      import("./external-partitions.ts"),
    ]);
    return new ExternalPartitions(client, table);
  };
}
