import { expect, test } from "vitest";
import { ObjectStoreError } from "./object-store-error.ts";
import { resolveStorageUri } from "./storage-uri.ts";

test.each([
  ["storage:/orders.csv", "s3://bucket/prefix", "s3://bucket/prefix/orders.csv"],
  ["storage:///a b/%20/c", "s3a://bucket/", "s3a://bucket/a b/%20/c"],
  ["storage:/folder/", "hdfs://host:8020/x", "hdfs://host:8020/x/folder/"],
  ["STORAGE:/folder/", "hdfs://host:8020/x", "STORAGE:/folder/"],
  ["storage:/", "file:///data/accounts/7/storage", "file:///data/accounts/7/storage/"],
  ["storage:/..a/b..", "file:///data", "file:///data/..a/b.."],
  ["s3://other/storage:/x", "s3://bucket", "s3://other/storage:/x"],
  ["file:/x", "s3://bucket", "file:/x"],
])("%s in %s is %s", (uri, location, address) => {
  expect(resolveStorageUri(uri, location)).toBe(address);
});

const HOST = "the URI must name no host after storage:// (write storage:/path)";
const NAMES = "the URI must have no empty name and no '.' or '..' in its path after storage:/";

test.each([
  ["storage:orders.csv", "the URI must have / after storage:"],
  ["storage:", "the URI must have / after storage:"],
  ["storage://orders.csv", HOST],
  ["storage://host/orders.csv", HOST],
  ["storage:/..", NAMES],
  ["storage:/../2/storage/x", NAMES],
  ["storage:/a/../../x", NAMES],
  ["storage:/a/./x", NAMES],
  ["storage:/a//x", NAMES],
  ["storage:////x", NAMES],
])("%s is refused: %s", (uri, message) => {
  expect(() => resolveStorageUri(uri, "s3://bucket")).toThrow(new ObjectStoreError("bad-uri", message));
});
