import { describe, expect, test } from "vitest";
import { querySchema } from "./settlement.ts";

const columns = (count: number) => Array.from({ length: count }, (_, index) => ({ name: `c${index}`, type: "int" }));

describe("the schema of a query", () => {
  test("has the columns in their order, also two of one name", () => {
    const twice = [
      { name: "a", type: "int" },
      { name: "a", type: "array<string>" },
    ];
    expect(querySchema({ query: 'select "x"', columns: twice })).toBe(
      String.raw`{"SVC-QUERY-SCHEMA":{"select \"x\"":[{"ColumnName":"a","ColumnType":"int"},{"ColumnName":"a","ColumnType":"array<string>"}]}}`,
    );
  });

  test("stays small for a long query, which is cut between characters", () => {
    const schema = querySchema({ query: `${"x".repeat(4095)}😀${"y".repeat(10_000_000)}`, columns: columns(1) }) ?? "";
    const { "SVC-QUERY-SCHEMA": queries } = JSON.parse(schema) as Record<string, object>; // by the line above
    expect(Object.keys(queries ?? {})).toEqual([`${"x".repeat(4095)}\ufffd…`]);
  });

  test("has all columns or none", () => {
    expect(querySchema({ query: "q", columns: columns(1_000) })).toHaveLength(40_918);
    expect(querySchema({ query: "q", columns: columns(10_000) })).toBeNull();
  });
});
