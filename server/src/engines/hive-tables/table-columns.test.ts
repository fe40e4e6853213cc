import { expect, test } from "vitest";
import { tableColumns, type TableColumn } from "./table-columns.ts";

const hive: TableColumn = { name: "col", type: "array<string>", comment: "from deserializer" };
const key: TableColumn = { name: "dt", type: "date", comment: null };

const schemaOf = (...fields: object[]): string => JSON.stringify({ type: "struct", fields });
const field = (name: string, type: unknown, metadata: object = {}) => ({ name, type, nullable: true, metadata });
const nested = (depth: number): string =>
  `${'{"type":"array","elementType":'.repeat(depth)}"integer"${"}".repeat(depth)}`;
const read = (parameters: Record<string, string>) =>
  tableColumns({ columns: [hive], partitionKeys: [key], parameters: new Map(Object.entries(parameters)) });

test("without Spark's schema, the columns are Hive's and the partition keys", () => {
  expect(read({ EXTERNAL: "TRUE" })).toEqual([hive, key]);
});

test("types have their SQL names at any depth", () => {
  const nested = {
    type: "struct",
    fields: [field("a", "integer"), field("b", { type: "array", elementType: "long" })],
  };
  const map = { type: "map", keyType: "string", valueType: "short" };
  const point = { type: "udt", class: "Point", sqlType: { type: "array", elementType: "double" } };
  const schema = schemaOf(
    field("Id", "long", { comment: "the key" }),
    field("tiny", "byte"),
    field("price", "decimal(12,2)"),
    field("code", "string", { __CHAR_VARCHAR_TYPE_STRING: "varchar(7)" }),
    field("s", nested),
    field("m", map),
    field("p", point),
    field("i", "interval day to second"),
    field("v", "variant"),
  );
  expect(read({ "spark.sql.sources.schema": schema }).map(({ name, type }) => [name, type])).toEqual([
    ["Id", "bigint"],
    ["tiny", "tinyint"],
    ["price", "decimal(12,2)"],
    ["code", "varchar(7)"],
    ["s", "struct<a:int,b:array<bigint>>"],
    ["m", "map<string,smallint>"],
    ["p", "array<double>"],
    ["i", "interval day to second"],
    ["v", "variant"],
  ]);
  expect(read({ "spark.sql.sources.schema": schema })[0]?.comment).toBe("the key");
});

test("a type may have a hundred levels", () => {
  const schema = `{"fields":[{"name":"a","type":${nested(100)}}]}`;
  const [column] = read({ "spark.sql.sources.schema": schema });
  expect(column?.type).toBe(`${"array<".repeat(100)}int${">".repeat(100)}`);
});

test("a schema in parts is joined in order", () => {
  const schema = schemaOf(...Array.from({ length: 30 }, (_, index) => field(`c${index}`, "integer")));
  const parts = schema.match(/.{1,100}/gs) ?? [];
  const parameters = Object.fromEntries(parts.map((part, index) => [`spark.sql.sources.schema.part.${index}`, part]));
  const columns = read({ "spark.sql.sources.schema.numParts": String(parts.length), ...parameters });
  expect(columns.map(({ name }) => name)).toEqual(Array.from({ length: 30 }, (_, index) => `c${index}`));
});

test.each([
  ["a schema that is not JSON", { "spark.sql.sources.schema": "{" }],
  ["a schema that is not a struct", { "spark.sql.sources.schema": '"integer"' }],
  ["an unknown type", { "spark.sql.sources.schema": schemaOf(field("a", { type: "cube" })) }],
  [
    "a type that is nested too deeply",
    { "spark.sql.sources.schema": `{"fields":[{"name":"a","type":${nested(20_000)}}]}` },
  ],
  ["a missing part", { "spark.sql.sources.schema.numParts": "2", "spark.sql.sources.schema.part.0": "{}" }],
  ["an invalid number of parts", { "spark.sql.sources.schema.numParts": "1e9" }],
])("with %s, the columns are Hive's", (_, parameters) => {
  expect(read(parameters)).toEqual([hive, key]);
});
