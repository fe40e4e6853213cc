import type { AccountStorage } from "../../accounts/contract.ts";
import { isStoreUnavailableFault } from "../../db/store-fault.ts";
import { selfListedFormat } from "../../engines/hive-tables/table-format.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import type { RefreshRequest, RefreshTable } from "../contract.ts";
import type { AccountTables } from "../tables/account-tables.ts";
import { metastoreFailure } from "../tables/metastore-failure.ts";
import { checkRefreshable } from "./refreshable-table.ts";
import { refreshTable, type TableRefreshOptions } from "./refresh-table.ts";
import { FAILOVER_PAUSES_MS, retry } from "./retry.ts";
import type { OpenTablePartitions } from "./table-partitions.ts";

export interface AccountRefreshOptions {
  readonly accountTables: Pick<AccountTables, "of">;
  readonly storage: Pick<AccountStorage, "open">;
  readonly openTablePartitions: OpenTablePartitions;
}

/** Refreshes the tables of accounts. Needs neither Spark nor a JVM. */
export function accountRefresh(options: AccountRefreshOptions): RefreshTable {
  return async (request, { journal, report, signal }) => {
    try {
      // Retries during an outage of the store, as the comparing and adding of partitions does.
      const open = (): ReturnType<typeof openTable> => openTable(options, request, signal);
      const opened = await retry(open, isStoreUnavailableFault, signal, FAILOVER_PAUSES_MS);
      if (typeof opened === "string") {
        await report.logSummary(opened);
        return;
      }
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

/** The caller closes the store and the partitions. A text says why the table needs no refresh. */
async function openTable(
  { accountTables, storage, openTablePartitions }: AccountRefreshOptions,
  request: RefreshRequest,
  signal: AbortSignal,
): Promise<Pick<TableRefreshOptions, "table" | "store" | "partitions"> | string> {
  const { accountId } = request;
  const opened = await storage.open(accountId);
  try {
    const catalog = await accountTables.of(accountId);
    const found = await unlessAborted(signal, catalog.table(request.schema, request.table, signal));
    const format = found && selfListedFormat(found.parameters);
    if (format !== undefined) {
      await opened.store.close();
      return `${request.schema}.${request.table} is a table of ${format}, which keeps its own list of files: it needs no refresh`;
    }
    const table = checkRefreshable(found, request, opened);
    return { table, store: opened.store, partitions: await openTablePartitions(accountId, table) };
  } catch (error) {
    await opened.store.close();
    throw error;
  }
}
