import { expect, test } from "vitest";
import { bucketAddress, objectPath, queryText, type S3Endpoint } from "./s3-address.ts";

const provider = { endpoint: null, region: "eu-west-1" };

function addressOf(endpoint: S3Endpoint, bucket: string, key: string) {
  const { origin, host, basePath } = bucketAddress(endpoint, bucket);
  return { origin, host, path: objectPath(basePath, key) };
}

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
  expect(addressOf(provider, "bucket", key).path).toBe(path);
  expect(addressOf({ ...provider, endpoint: "http://localhost:9000" }, "bucket", key).path).toBe(`/bucket${path}`);
});

test("AWS buckets have hosts of their own in their region", () => {
  expect(addressOf(provider, "bucket", "k")).toEqual({
    origin: "https://bucket.s3.eu-west-1.amazonaws.com",
    host: "bucket.s3.eu-west-1.amazonaws.com",
    path: "/k",
  });
  expect(addressOf(provider, "bucket", "").path).toBe("/");
});

test.each(["my.bucket", "My-Bucket", "under_score"])(
  "the bucket %s, which is not a valid host name, is addressed by path",
  (bucket) => {
    expect(addressOf(provider, bucket, "k")).toMatchObject({
      origin: "https://s3.eu-west-1.amazonaws.com",
      path: `/${bucket}/k`,
    });
  },
);

test("a custom endpoint is addressed by path, with its own path and port", () => {
  expect(addressOf({ endpoint: "https://store.example:9000/s3/", region: "x" }, "bucket", "k")).toEqual({
    origin: "https://store.example:9000",
    host: "store.example:9000",
    path: "/s3/bucket/k",
  });
});

test("queries are encoded and sorted as SigV4 requires", () => {
  expect(queryText({})).toBe("");
  expect(queryText({ uploads: "", prefix: "a b+c/*" })).toBe("prefix=a%20b%2Bc%2F%2A&uploads=");
});

test.each([
  ["https://store.example", true],
  ["http://store.example", false],
  ["http://localhost:9000", true],
  ["http://127.8.9.1", true],
  ["http://[::1]:9000", true],
  ["http://127.example", false],
])("the bodies of requests to %s need no signature: %s", (endpoint, isProtected) => {
  expect(bucketAddress({ endpoint, region: "x" }, "bucket").isProtected).toBe(isProtected);
});
