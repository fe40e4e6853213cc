import { expect, test } from "vitest";
import { HiveError, type HiveErrorKind } from "../../engines/hive-thrift/hive-error.ts";
import { metastoreFailure } from "./metastore-failure.ts";

test("what a metastore says is told in its words, on one line and no longer than they can be read", () => {
  expect(metastoreFailure(new HiveError("failed", "get_table", "MetaException:\n no room"))).toMatchObject({
    publicMessage: "the metastore refuses: get_table: MetaException: no room",
  });
  const long = metastoreFailure(new HiveError("failed", "get_table", "x".repeat(100_000)));
  expect(long).toMatchObject({
    publicMessage: expect.stringMatching(/^the metastore refuses: get_table: x{400,500}$/),
  });
});

test.each<[HiveErrorKind, string]>([
  ["failed", "unavailable"],
  ["unknown-function", "unavailable"],
  ["invalid-object", "invalid"],
  ["invalid-operation", "invalid"],
])("%s is %s", (kind, code) => {
  expect(metastoreFailure(new HiveError(kind, "f", "words"))).toMatchObject({ name: "Fault", code });
});

test("anything else passes as it is", () => {
  const other = new Error("another");
  expect(metastoreFailure(other)).toBe(other);
});
