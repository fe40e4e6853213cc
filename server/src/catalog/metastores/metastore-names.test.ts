import { expect, test } from "vitest";
import { metastoreName, metastorePrefix } from "./metastore-names.ts";

test("the names of databases and roles contain the product's database and the account", () => {
  expect(metastoreName("headgate", 12)).toBe("headgate_metastore_12");
});

test("a name is unique and fits into PostgreSQL's 63 bytes, whatever the product's database is called", () => {
  const long = "é".repeat(31);
  const name = metastoreName(long, Number.MAX_SAFE_INTEGER);
  expect(Buffer.byteLength(name)).toBeLessThanOrEqual(63);
  expect(metastorePrefix(long)).not.toBe(metastorePrefix("é".repeat(30)));
});
