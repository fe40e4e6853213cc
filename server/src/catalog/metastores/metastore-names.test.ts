import { expect, test } from "vitest";
import { metastoreName, metastorePrefix } from "./metastore-names.ts";

test("databases and roles bear the product's database and the account in their name", () => {
  expect(metastoreName("headgate", 12)).toBe("headgate_metastore_12");
});

test("a name fits into PostgreSQL's 63 bytes and stays apart from others, whatever the product's database is called", () => {
  const long = "é".repeat(31);
  const name = metastoreName(long, Number.MAX_SAFE_INTEGER);
  expect(Buffer.byteLength(name)).toBeLessThanOrEqual(63);
  expect(metastorePrefix(long)).not.toBe(metastorePrefix("é".repeat(30)));
});
