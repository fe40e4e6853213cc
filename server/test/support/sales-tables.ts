import type { HiveTable } from "../../src/engines/hive-thrift/hive-structs.ts";
import { textStorage } from "./hive-writer.ts";

/** Tables of the database `sales`, in the form that Hive creates. */
export const orders: HiveTable = {
  tableName: "orders",
  dbName: "sales",
  owner: "us",
  sd: textStorage([
    { name: "id", type: "bigint", comment: "of the order" },
    { name: "items", type: "array<struct<sku:string,count:int>>" },
  ]),
  partitionKeys: [
    { name: "day", type: "int" },
    { name: "region", type: "string" },
  ],
  parameters: new Map([["grüße", "🎉"]]),
  tableType: "MANAGED_TABLE",
};

export const bigOrders: HiveTable = {
  ...orders,
  tableName: "big_orders",
  partitionKeys: [],
  sd: textStorage([{ name: "one", type: "int" }]),
  tableType: "VIRTUAL_VIEW",
  viewOriginalText: "select 1",
  viewExpandedText: "select 1",
};

export const visits: HiveTable = {
  ...orders,
  tableName: "visits",
  partitionKeys: ["country", "day", "hour"].map((name) => ({ name, type: "string" })),
};
