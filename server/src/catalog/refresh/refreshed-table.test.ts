import { describe, expect, test } from "vitest";
import { ObjectStoreError, type ObjectStoreErrorKind } from "../../engines/object-store/object-store-error.ts";
import type { CatalogTable } from "../tables/table-catalog.ts";
import { listingFailure, openRefreshed, partitionColumns, whyUnread, withoutKeys } from "./refreshed-table.ts";

const asked = { schema: "sales", table: "daily" };
const everything = { hasKeys: true, hdfsHttpAddress: "http://h:9870" };
const nothing = { hasKeys: false, hdfsHttpAddress: null };
const column = (name: string, type: string) => ({ name, type, comment: null });

function tableAt(location: string | null, more: Partial<CatalogTable> = {}): CatalogTable {
  return {
    schema: "sales",
    name: "daily",
    identity: "1",
    kind: "EXTERNAL_TABLE",
    owner: null,
    createdAt: new Date(0),
    inputFormat: null,
    parameters: new Map(),
    columns: [column("v", "int"), column("Day", "timestamp_ntz")],
    partitionKeys: [column("day", "string")],
    location,
    ...more,
  };
}

describe("a table is refreshed", () => {
  test.each(["s3a://bucket/t", "s3://bucket/t", "hdfs://h:9000/t", "file:/data/t", "file:///data/t"])(
    "at %s",
    (location) => {
      expect(openRefreshed(tableAt(location), asked, everything).location).toBe(location);
    },
  );

  test("by the types of its columns as Spark knows them", () => {
    expect(partitionColumns(tableAt("s3://bucket/t"))).toEqual([{ name: "day", type: "timestamp_ntz" }]);
  });
});

describe("a partition with a colon in the names of its folders", () => {
  const text = tableAt("s3a://bucket/a:b", { inputFormat: "org.apache.hadoop.mapred.TextInputFormat" });
  const spark = { ...text, parameters: new Map([["spark.sql.sources.provider", "csv"]]) };
  const parquet = { ...text, inputFormat: "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat" };

  test.each([
    [text, "at=10:00/n=1", expect.stringMatching(/would fail on the colon in its name: write it as %3A$/)],
    [text, "at=10%3A00/n=1", undefined],
    [spark, "at=10:00/n=1", undefined],
    [parquet, "at=10:00/n=1", undefined],
  ])("%# is left where it would spoil the table's queries, and nowhere else", (table, below, why) => {
    const opened = openRefreshed(table, asked, everything);
    expect(whyUnread(opened, { location: `s3a://bucket/a:b/${below}` })).toEqual(why);
  });
});

describe("a table is not refreshed, and it is said why", () => {
  test.each([
    [undefined, everything, /sales\.daily is not in the metastore: create it/],
    [tableAt(null, { kind: "VIRTUAL_VIEW" }), everything, /sales\.daily is a view/],
    [tableAt("s3://bucket/t", { partitionKeys: [] }), everything, /sales\.daily is not partitioned/],
    [tableAt(null), everything, /has no location/],
    [
      tableAt("s3n://bucket/t"),
      nothing,
      /s3n:\/\/bucket\/t, and the account has no keys for it: set storage_access_key/,
    ],
    [tableAt("hdfs://h/t"), nothing, /hdfs:\/\/h\/t, and the account has no address for it: set hdfs_http_address/],
    [tableAt("abfs://c@a/t"), everything, /abfs:\/\/a\/t, where this account has no storage/],
  ])("%#", (table, storage, message) => {
    expect(() => openRefreshed(table, asked, storage)).toThrow(message);
  });

  test.each([
    ["s3n://KEY:SECRET@bucket/t", "s3n://bucket/t"],
    ["s3n://KEY:SEC/RET+x@bucket/t", "s3n://bucket/t"],
    ["s3n://KEY@bucket/t", "s3n://bucket/t"],
    ["s3a://bucket/t@1/x", "s3a://bucket/t@1/x"],
    ["hdfs://h:9000/t@1", "hdfs://h:9000/t@1"],
    ["file:/a:b@c", "file:/a:b@c"],
  ])("without what is secret in its location %s", (location, told) => {
    expect(withoutKeys(location)).toBe(told);
    if (location === told) return;
    expect(() => openRefreshed(tableAt(location), asked, everything)).toThrow(`the table lies at ${told}, where`);
  });

  test("when its folders lie behind a symbolic link", () => {
    const error = new ObjectStoreError("denied", "words");
    expect(listingFailure(error, "file:/data/t")).toMatchObject({
      publicMessage: expect.stringMatching(/words\. Let the table's location name the folder itself/),
    });
  });

  test.each<[ObjectStoreErrorKind, string, RegExp]>([
    ["denied", "invalid", /cannot be listed: words\. Let the account's storage keys/],
    ["bad-uri", "invalid", /s3:\/\/bucket\/t, where this account has no storage: words/],
    ["refused-address", "invalid", /cannot be listed: words/],
    ["missing", "unavailable", /cannot be listed: words/],
    ["unreachable", "unavailable", /cannot be listed: words/],
  ])("when its store says %s", (kind, code, message) => {
    expect(listingFailure(new ObjectStoreError(kind, "words"), "s3://bucket/t")).toMatchObject({
      code,
      publicMessage: expect.stringMatching(message),
    });
  });
});
