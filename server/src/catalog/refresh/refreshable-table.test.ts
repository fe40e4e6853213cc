import { describe, expect, test } from "vitest";
import { ObjectStoreError, type ObjectStoreErrorKind } from "../../object-store/object-store-error.ts";
import type { CatalogTable } from "../tables/table-catalog.ts";
import {
  listingFailure,
  checkRefreshable,
  partitionColumns,
  whyNotReadable,
  withoutKeys,
} from "./refreshable-table.ts";

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
      expect(checkRefreshable(tableAt(location), asked, everything).location).toBe(location);
    },
  );

  test("by Spark's types of its columns", () => {
    expect(partitionColumns(tableAt("s3://bucket/t"))).toEqual([{ name: "day", type: "timestamp_ntz" }]);
  });
});

describe("a partition with a colon in the names of its folders", () => {
  const text = tableAt("s3a://bucket/a:b", { inputFormat: "org.apache.hadoop.mapred.TextInputFormat" });
  const spark = { ...text, parameters: new Map([["spark.sql.sources.provider", "csv"]]) };
  const parquet = { ...text, inputFormat: "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat" };

  test.each([
    [text, "at=10:00/n=1", expect.stringMatching(/would make queries of this table fail: write it as %3A$/)],
    [text, "at=10%3A00/n=1", undefined],
    [spark, "at=10:00/n=1", undefined],
    [parquet, "at=10:00/n=1", undefined],
  ])("%# is skipped only if it would make the table's queries fail", (table, below, why) => {
    const opened = checkRefreshable(table, asked, everything);
    expect(whyNotReadable(opened, { location: `s3a://bucket/a:b/${below}` })).toEqual(why);
  });
});

describe("a refresh is refused with a reason", () => {
  test.each([
    [undefined, everything, /sales\.daily is not in the metastore: create it/],
    [tableAt(null, { kind: "VIRTUAL_VIEW" }), everything, /sales\.daily is a view/],
    [tableAt("s3://bucket/t", { partitionKeys: [] }), everything, /sales\.daily is not partitioned/],
    [tableAt(null), everything, /has no location/],
    [
      tableAt("s3n://bucket/t"),
      nothing,
      /s3n:\/\/bucket\/t, and the account has no keys for S3: set storage_access_key/,
    ],
    [tableAt("hdfs://h/t"), nothing, /hdfs:\/\/h\/t, and the account has no HDFS address: set hdfs_http_address/],
    [tableAt("abfs://c@a/t"), everything, /abfs:\/\/a\/t, which this account cannot read/],
  ])("%#", (table, storage, message) => {
    expect(() => checkRefreshable(table, asked, storage)).toThrow(message);
  });

  test.each([
    ["s3n://KEY:SECRET@bucket/t", "s3n://bucket/t"],
    ["s3n://KEY:SEC/RET+x@bucket/t", "s3n://bucket/t"],
    ["s3n://KEY@bucket/t", "s3n://bucket/t"],
    ["s3a://bucket/t@1/x", "s3a://bucket/t@1/x"],
    ["hdfs://h:9000/t@1", "hdfs://h:9000/t@1"],
    ["file:/a:b@c", "file:/a:b@c"],
  ])("without the secret keys in the location %s", (location, shown) => {
    expect(withoutKeys(location)).toBe(shown);
    if (location === shown) return;
    expect(() => checkRefreshable(tableAt(location), asked, everything)).toThrow(
      `the table is stored at ${shown}, which`,
    );
  });

  test("when the table's location is a symbolic link", () => {
    const error = new ObjectStoreError("denied", "words");
    expect(listingFailure(error, "file:/data/t")).toMatchObject({
      publicMessage: expect.stringMatching(/words\. Make the table's location the folder itself/),
    });
  });

  test.each<[ObjectStoreErrorKind, string, RegExp]>([
    ["denied", "invalid", /cannot be listed: words\. Allow the account's storage keys/],
    ["bad-uri", "invalid", /s3:\/\/bucket\/t, which this account cannot read: words/],
    ["refused-address", "invalid", /cannot be listed: words/],
    ["missing", "unavailable", /cannot be listed: words/],
    ["unreachable", "unavailable", /cannot be listed: words/],
  ])("when the store reports %s", (kind, code, message) => {
    expect(listingFailure(new ObjectStoreError(kind, "words"), "s3://bucket/t")).toMatchObject({
      code,
      publicMessage: expect.stringMatching(message),
    });
  });
});
