import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { HiveTable } from "../../src/engines/hive-thrift/hive-structs.ts";
import { partitionName } from "../../src/engines/hive-thrift/partition-name.ts";
import { textStorage } from "../support/hive-writer.ts";
import { bigOrders, orders, visits } from "../support/sales-tables.ts";
import type { UsedMetastore } from "../support/use-metastore.ts";

const PARTITIONS = [
  ["2", "Köln"],
  ["1", "a/b"],
  ["1", "__HIVE_DEFAULT_PARTITION__"],
];

/** More tables than one batch of an answer. */
export const manyTables: HiveTable[] = Array.from({ length: 120 }, (_, index) => ({
  ...orders,
  tableName: `t_${index}`,
  partitionKeys: [],
}));

/** Creates the database `sales` with many tables, and one without any. */
export async function createSales({ client, writer, warehouse }: UsedMetastore): Promise<void> {
  await writer.createDatabase({ name: "sales", description: "what was sold", parameters: new Map() });
  await writer.createDatabase({ name: "empty", parameters: new Map() });
  for (const table of [orders, placedIn(warehouse), bigOrders, visits, ...manyTables]) await writer.createTable(table);
  const sd = { ...orders.sd, location: "" };
  const partitions = PARTITIONS.map((values) => {
    const name = partitionName(orders.partitionKeys ?? [], values);
    const location = pathToFileURL(join(warehouse, name)).href;
    return { values, sd: { ...sd, location }, parameters: new Map<string, string>() };
  });
  await client.addPartitions("sales", "orders", partitions, AbortSignal.timeout(60_000));
}

function placedIn(warehouse: string): HiveTable {
  const storage = textStorage([{ name: "one", type: "int" }]);
  const parameters = new Map([["path", "s3a://bucket/placed"]]);
  const location = pathToFileURL(join(warehouse, "placed-__PLACEHOLDER__")).href;
  const sd = { ...storage, location, serdeInfo: { ...storage.serdeInfo, parameters } };
  const external = new Map([["EXTERNAL", "TRUE"]]);
  return { ...orders, tableName: "placed", partitionKeys: [], sd, parameters: external, tableType: "EXTERNAL_TABLE" };
}
