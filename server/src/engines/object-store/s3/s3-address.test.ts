import { expect, test } from "vitest";
import { queryText, s3Address } from "./s3-address.ts";

const provider = { endpoint: null, region: "eu-west-1" };

test.each([
  ["a//b", "/a//b"],
  ["folder/", "/folder/"],
  ["/lead", "//lead"],
  ["a b+c%20d", "/a%20b%2Bc%2520d"],
  ["ü/🎉", "/%C3%BC/%F0%9F%8E%89"],
  ["!'()*-_.~", "/%21%27%28%29%2A-_.~"],
  ["?x=1#y&z;:@$,=", "/%3Fx%3D1%23y%26z%3B%3A%40%24%2C%3D"],
  ["a/../b/./c", "/a/../b/./c"],
])("the key %j is sent as %j", (key, path) => {
  expect(s3Address(provider, "bucket", key).path).toBe(path);
  expect(s3Address({ ...provider, endpoint: "http://localhost:9000" }, "bucket", key).path).toBe(`/bucket${path}`);
});

test("AWS buckets have hosts of their own in their region", () => {
  expect(s3Address(provider, "bucket", "k")).toEqual({
    origin: "https://bucket.s3.eu-west-1.amazonaws.com",
    host: "bucket.s3.eu-west-1.amazonaws.com",
    path: "/k",
  });
  expect(s3Address(provider, "bucket", "").path).toBe("/");
});

test.each(["my.bucket", "My-Bucket", "under_score"])(
  "the bucket %s, which is not a valid host name, is addressed by path",
  (bucket) => {
    expect(s3Address(provider, bucket, "k")).toMatchObject({
      origin: "https://s3.eu-west-1.amazonaws.com",
      path: `/${bucket}/k`,
    });
  },
);

test("a custom endpoint is addressed by path, with its own path and port", () => {
  expect(s3Address({ endpoint: "https://store.example:9000/s3/", region: "x" }, "bucket", "k")).toEqual({
    origin: "https://store.example:9000",
    host: "store.example:9000",
    path: "/s3/bucket/k",
  });
});

test("queries are encoded as SigV4 requires", () => {
  expect(queryText({})).toBe("");
  expect(queryText({ uploads: "", prefix: "a b+c/*" })).toBe("?uploads=&prefix=a%20b%2Bc%2F%2A");
});
