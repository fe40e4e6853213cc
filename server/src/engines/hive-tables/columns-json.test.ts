import fc from "fast-check";
import { expect, test } from "vitest";
import { anyText } from "../../../test/support/any-text.ts";
import { columnsJson, sparkColumnsJson } from "./columns-json.ts";
import { tableColumns } from "./table-columns.ts";

const field = (name: string, type: unknown, metadata: object = {}, nullable = true) => ({
  name,
  type,
  nullable,
  metadata,
});
const schemaOf = (...fields: object[]): string => JSON.stringify({ type: "struct", fields });
const parametersOf = (schema: string): Map<string, string> => new Map([["spark.sql.sources.schema", schema]]);

const AS_SQL = [
  ["byte", "tinyint"],
  ["short", "smallint"],
  ["integer", "int"],
  ["long", "bigint"],
  ["decimal", "decimal(10,0)"],
  ["null", "void"],
  ["decimal(12,2)", "decimal(12,2)"],
  ["timestamp_ntz", "timestamp_ntz"],
  ["interval day to second", "interval day to second"],
];

test("columns have only a name and the SQL name of their type", () => {
  const fields = AS_SQL.map(([type], at) => field(`c${at}`, type, at === 1 ? { comment: "of it" } : {}, at !== 2));
  expect(sparkColumnsJson(parametersOf(schemaOf(...fields)))).toBe(
    JSON.stringify(AS_SQL.map(([, type], at) => ({ name: `c${at}`, type }))),
  );
});

test.each([
  ["simple columns", [field("id", "long"), field("Größe 🎉", "string")]],
  ["no columns", []],
  [
    "names that are keywords of the format",
    [field("type", "long"), field("nullable", "byte"), field("metadata", "null")],
  ],
  [
    "names that look like the format",
    [field(',"nullable":true,"metadata":{}', "long"), field('"type":"long"', "date")],
  ],
  [
    "comments that look like the format",
    [field("a", "long", { comment: '},{"name":"b","type":"long"' }), field("b", "date")],
  ],
  ["comments with brackets", [field("a", "long", { comment: "}}]},:type:long" }), field("b", "integer")]],
  ["escapes", [field('a"b\\c\n', "long", { comment: "\t" }), field("\\", "short")]],
  ["other metadata", [field("a", "string", { __CHAR_VARCHAR_TYPE_STRING: "varchar(7)" }), field("b", "integer")]],
  ["a nested type", [field("a", { type: "array", elementType: "long", containsNull: true }), field("b", "short")]],
  ["thousands of columns", Array.from({ length: 5000 }, (_, at) => field(`c${at}`, "long"))],
  ["a name of a million characters", [field("x".repeat(1_000_000), "long")]],
])("%s give the same JSON as parsing the schema", (_, fields) => {
  const parameters = parametersOf(schemaOf(...fields));
  const parsed = columnsJson(tableColumns({ columns: [], partitionKeys: [], parameters }));
  expect(sparkColumnsJson(parameters)).toBe(parsed);
});

test("any names and comments give the same JSON as parsing the schema", () => {
  const text = fc.oneof(anyText(), fc.constantFrom("type", "}", ",", '"', "\\"));
  const metadata = fc.oneof(fc.constant({}), fc.record({ comment: text }));
  const fields = fc.array(fc.record({ name: text, type: text, nullable: fc.boolean(), metadata }));
  fc.assert(
    fc.property(fields, (some) => {
      const parameters = parametersOf(schemaOf(...some));
      const parsed = columnsJson(tableColumns({ columns: [], partitionKeys: [], parameters }));
      expect(sparkColumnsJson(parameters)).toBe(parsed);
    }),
  );
});

const good = schemaOf(field("a", "long"));

test.each([
  ["an extra comma", good.replace("]}", ",]}")],
  ["a missing comma", good.replace("]}", `${JSON.stringify(field("b", "long"))}]}`)],
  ["a missing end", good.slice(0, -1)],
  ["text after the end", `${good}]}`],
  ["a line break in a string", good.replace('"a"', '"a\n"')],
  ["more than a MiB", schemaOf(field("x".repeat(1024 * 1024), "long"))],
  ["an unknown type", schemaOf(field("a", "long"), field("b", { type: "cube" }))],
])("a schema with %s is not readable", (_, schema) => {
  expect(sparkColumnsJson(parametersOf(schema))).toBeUndefined();
});
