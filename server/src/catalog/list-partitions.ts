import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { Nullable } from "../http/schema.ts";
import { findTableInPath, READ_TABLES, TableParams } from "./table-params.ts";
import { streamedArray } from "./streamed-array.ts";
import type { WithAccountTables } from "./tables/account-tables.ts";
import type { CatalogPartition } from "./tables/table-catalog.ts";

export const listPartitions = operation({
  id: "hive_partitions",
  summary: "List the partitions of a table",
  description: "Sorted by name. The list is empty for a table that is not partitioned.",
  tag: "Hive",
  method: "GET",
  paths: { "v1.2": "/hive/:schema/:table/partitions" },
  access: { permission: READ_TABLES },
  params: TableParams,
  example: {
    params: { schema: "default" },
    reply: [{ PART_NAME: "dt=2026-01-31", LOCATION: "s3a://bucket/warehouse/orders/dt=2026-01-31" }],
  },
  reply: Type.Array(Type.Object({ PART_NAME: Type.String(), LOCATION: Nullable(Type.String()) })),
  find: findTableInPath,

  async handle({ found, caller, endingSignal }, { accountTables }: WithAccountTables) {
    const signal = endingSignal();
    await accountTables.listings.take(caller.accountId, signal);
    const tables = await accountTables.of(caller.accountId);
    return streamedArray(tables.partitions(found.schema, found.name, signal), partitionJson);
  },
});

function partitionJson({ name, location }: CatalogPartition): string {
  return JSON.stringify({ PART_NAME: name, LOCATION: location });
}
