import { tableIdentity } from "../../src/catalog/tables/external-tables.ts";
import type { CatalogTable } from "../../src/catalog/tables/table-catalog.ts";
import type { HiveTable } from "../../src/engines/hive-thrift/hive-structs.ts";
import { noValue } from "../../src/engines/hive-thrift/partition-name.ts";
import { textStorage } from "./hive-writer.ts";

/** A text table partitioned by a number, a day and a text. */
export function text(tableName: string): HiveTable {
  return {
    tableName,
    dbName: "default",
    owner: "us",
    sd: textStorage([
      { name: "id", type: "bigint", comment: "of the order" },
      { name: "tags", type: "array<string>" },
    ]),
    partitionKeys: [
      { name: "n", type: "int" },
      { name: "day", type: "date" },
      { name: "city", type: "string" },
    ],
    parameters: new Map(),
    tableType: "MANAGED_TABLE",
  };
}

export function bucketed(tableName: string): HiveTable {
  const table = text(tableName);
  const more = { bucketCols: ["id"], sortCols: [{ col: "id", order: 1 }], numBuckets: 4, compressed: true };
  return { ...table, sd: { ...table.sd, ...more, parameters: new Map([["note", "grüße 🎉"]]) } };
}

/** Values of such tables that are hard to encode or to store. */
export const ODD = [
  ["1", "2026-11-15", "a"],
  ["-7", "2026-11-15", "Köln 🎉"],
  ["2", "2026-11-15", "a/b=c%d:e"],
  ["2", "2026-11-16", noValue],
  [noValue, noValue, noValue],
  ["2147483647", "0001-01-01", "."],
  ["3", "2026-11-15", "x".repeat(200)],
];

export function days(count: number, from = 0): string[][] {
  return Array.from({ length: count }, (_, index) => [String(from + index), "2026-11-15", `c${index % 7}`]);
}

/** A table like those of Spark's own formats, whose path is stored beside its location. */
export function placed(tableName: string, folder: string): HiveTable {
  const table = text(tableName);
  const location = `file:${folder}/${tableName}-__PLACEHOLDER__`;
  const serdeInfo = {
    ...table.sd?.serdeInfo,
    parameters: new Map([["path", `file:${folder}/elsewhere/${tableName}`]]),
  };
  const parameters = new Map([["EXTERNAL", "TRUE"]]);
  return { ...table, sd: { ...table.sd, location, serdeInfo }, parameters, tableType: "EXTERNAL_TABLE" };
}

/** The table as read by Thrift from an external metastore. */
export function asExternal(table: CatalogTable): CatalogTable {
  return { ...table, identity: tableIdentity({ createTime: table.createdAt.getTime() / 1000 }) };
}
