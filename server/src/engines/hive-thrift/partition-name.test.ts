import fc from "fast-check";
import { expect, test } from "vitest";
import { anyText } from "../../../test/support/any-text.ts";
import { noValue, parsePartitionName, partitionName } from "./partition-name.ts";

// `test/real-metastore/hive-client.ts` compares the names with those of a real metastore.
test("a name is parsed into the columns and values that it was built from", () => {
  const text = anyText({ minLength: 1, maxLength: 20 });
  const parts = fc.array(fc.record({ column: text.map((column) => column.toLowerCase()), value: text }), {
    minLength: 1,
  });
  fc.assert(
    fc.property(parts, (given) => {
      const keys = given.map(({ column }) => ({ name: column }));
      const values = given.map(({ value }) => value);
      expect(parsePartitionName(partitionName(keys, values))).toEqual(given);
    }),
  );
});

test("an empty or missing value becomes Hive's default partition, and columns are in lower case", () => {
  expect(partitionName([{ name: "Day" }, { name: "hour" }], [""])).toBe(`day=${noValue}/hour=${noValue}`);
});

test.each(["", "day", "day=", "=1", "day=1/", "day=1//hour=2", "/day=1"])("%j is not a partition name", (name) => {
  expect(parsePartitionName(name)).toBeUndefined();
});

test("an invalid escape is literal", () => {
  expect(parsePartitionName("a=100%/b=%zz/c=%2f%2F")).toEqual([
    { column: "a", value: "100%" },
    { column: "b", value: "%zz" },
    { column: "c", value: "//" },
  ]);
});
