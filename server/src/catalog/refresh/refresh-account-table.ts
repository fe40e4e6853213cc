import type { AccountStorage } from "../../accounts/contract.ts";
import { isStoreAwayFault } from "../../db/store-fault.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import type { RefreshRequest, RefreshTable } from "../contract.ts";
import type { AccountTables } from "../tables/account-tables.ts";
import { metastoreFailure } from "../tables/metastore-failure.ts";
import { openRefreshed } from "./refreshed-table.ts";
import { refreshTable, type TableRefreshOptions } from "./refresh-table.ts";
import { repeat } from "./repeat.ts";
import type { OpenTablePartitions } from "./table-partitions.ts";

export interface AccountRefreshOptions {
  readonly accountTables: Pick<AccountTables, "of">;
  readonly storage: AccountStorage;
  readonly openTablePartitions: OpenTablePartitions;
}

/** Gives a table of an account the partitions that its folders say there are. Needs neither Spark nor Java. */
export function accountRefresh(options: AccountRefreshOptions): RefreshTable {
  return async (request, { journal, report, signal }) => {
    try {
      // An outage of the store is waited for here as it is later, when partitions are compared and added.
      const opened = await repeat(() => openTable(options, request, signal), isStoreAwayFault, signal);
      try {
        await refreshTable({ ...opened, journal, report, stableMinutes: request.stableMinutes, signal });
      } finally {
        await opened.partitions.close();
        await opened.store.close();
      }
    } catch (error) {
      throw metastoreFailure(error);
    }
  };
}

/** The caller closes the store and the partitions. */
async function openTable(
  { accountTables, storage, openTablePartitions }: AccountRefreshOptions,
  request: RefreshRequest,
  signal: AbortSignal,
): Promise<Pick<TableRefreshOptions, "table" | "store" | "partitions">> {
  const { accountId } = request;
  const opened = await storage.open(accountId);
  try {
    const catalog = await accountTables.of(accountId);
    const found = await unlessAborted(signal, catalog.table(request.schema, request.table, signal));
    const table = openRefreshed(found, request, opened);
    return { table, store: opened.store, partitions: await openTablePartitions(accountId, table) };
  } catch (error) {
    await opened.store.close();
    throw error;
  }
}
