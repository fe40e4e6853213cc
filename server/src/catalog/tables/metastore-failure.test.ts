import { expect, test } from "vitest";
import { HiveError, type HiveErrorKind } from "../../engines/hive-thrift/hive-error.ts";
import { metastoreFailure } from "./metastore-failure.ts";

test("a metastore's message is shown on one line, shortened where it is long", () => {
  expect(metastoreFailure(new HiveError("failed", "get_table", "MetaException:\n no room"))).toMatchObject({
    publicMessage: "The metastore reports an error: get_table: MetaException: no room",
  });
  const long = metastoreFailure(new HiveError("failed", "get_table", "x".repeat(100_000)));
  expect(long).toMatchObject({
    publicMessage: expect.stringMatching(/^The metastore reports an error: get_table: x{400,500}$/),
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

test("any other error is returned unchanged", () => {
  const other = new Error("another");
  expect(metastoreFailure(other)).toBe(other);
});
