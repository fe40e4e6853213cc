import { unlessAborted } from "../../lib/unless-aborted.ts";
import type { AccountStorage } from "../account-storage.ts";
import type { AccountTables } from "../tables/account-tables.ts";
import { metastoreFailure } from "../tables/metastore-failure.ts";
import { openRefreshed } from "./refreshed-table.ts";
import type { RefreshContext, RefreshRequest } from "./refresh-context.ts";
import { refreshTable } from "./refresh-table.ts";
import type { OpenTablePartitions } from "./table-partitions.ts";

export interface AccountRefreshOptions {
  readonly accountTables: Pick<AccountTables, "of">;
  readonly storage: AccountStorage;
  readonly openTablePartitions: OpenTablePartitions;
}

/** Gives a table of an account the partitions that its folders say there are. Needs neither Spark nor Java. */
export function accountRefresh({ accountTables, storage, openTablePartitions }: AccountRefreshOptions) {
  return async (request: RefreshRequest, { journal, report, signal }: RefreshContext): Promise<void> => {
    const { accountId, stableMinutes } = request;
    const opened = await storage.open(accountId);
    try {
      const catalog = await accountTables.of(accountId);
      const found = await unlessAborted(signal, catalog.table(request.schema, request.table, signal));
      const table = openRefreshed(found, request, opened);
      const partitions = await openTablePartitions(accountId, table);
      try {
        await refreshTable({ table, store: opened.store, partitions, journal, report, stableMinutes, signal });
      } finally {
        await partitions.close();
      }
    } catch (error) {
      throw metastoreFailure(error);
    } finally {
      await opened.store.close();
    }
  };
}
