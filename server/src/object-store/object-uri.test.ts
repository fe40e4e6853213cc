import { describe, expect, test } from "vitest";
import { ObjectStoreError } from "./object-store-error.ts";
import { formatObjectUri, parseObjectUri } from "./object-uri.ts";

describe("parseObjectUri", () => {
  test.each([
    ["s3://bucket/a/b", { scheme: "s3", bucket: "bucket", key: "a/b" }],
    ["s3a://bucket/a/b", { scheme: "s3", bucket: "bucket", key: "a/b" }],
    ["S3N://bucket/a/b", { scheme: "s3", bucket: "bucket", key: "a/b" }],
    ["s3://bucket", { scheme: "s3", bucket: "bucket", key: "" }],
    ["s3://bucket//a//b/", { scheme: "s3", bucket: "bucket", key: "/a//b/" }],
    ["s3://my.old_Bucket/../x", { scheme: "s3", bucket: "my.old_Bucket", key: "../x" }],
    ["file:///data/x", { scheme: "file", bucket: "", key: "/data/x" }],
    ["file:/data/x", { scheme: "file", bucket: "", key: "/data/x" }],
    ["hdfs://name-node:8020/tmp/x", { scheme: "hdfs", bucket: "name-node:8020", key: "/tmp/x" }],
    ["hdfs:///tmp/x", { scheme: "hdfs", bucket: "", key: "/tmp/x" }],
  ])("parses %s", (text, parsed) => {
    expect(parseObjectUri(text)).toEqual(parsed);
  });

  test("takes a key literally: nothing is decoded, trimmed or normalised", () => {
    const key = "a b/+%20?x=1#y/Ünïcode 🎉\n.";
    expect(parseObjectUri(`s3://bucket/${key}`).key).toBe(key);
  });

  test.each([
    "",
    "bucket/key",
    "http://bucket/key",
    "s3:bucket/key",
    "s3:///key",
    "s3://-bucket/key",
    "s3://buck et/key",
    "s3://bucket:80/key",
    "s3://AKIA:secret@bucket/key",
    "s3://bucket/a\0b",
    "s3://bucket/\uD800",
    `s3://bucket/${"ü".repeat(513)}`,
    "file://host/data",
    "file:data",
    "hdfs://name-node",
    "hdfs://user@name-node/x",
  ])("rejects %j without quoting it", (text) => {
    const refusal = refusalOf(text);
    expect(refusal.kind).toBe("bad-uri");
    expect(refusal.message).not.toContain("secret");
  });

  test.each([
    ["s3://b/key", "the URI must name a bucket of 3 to 63 characters"],
    ["s3a://ab/key", "the URI must name a bucket of 3 to 63 characters"],
    [`s3n://${"b".repeat(64)}/key`, "the URI must name a bucket of 3 to 63 characters"],
    ["s3://buck et/key", "the URI must name a bucket of letters, digits, '.', '_' and '-'"],
    ["s3://-bucket/key", "the URI must name a bucket that begins and ends with a letter or a digit"],
    ["s3://bucket./key", "the URI must name a bucket that begins and ends with a letter or a digit"],
    ["s3://buc..ket/key", "the URI must name a bucket without two dots in a row"],
    ["s3://192.168.5.4/key", "the URI must name a bucket that is not an IP address"],
  ])("explains what is wrong with the bucket in %s", (text, message) => {
    expect(refusalOf(text).message).toBe(message);
  });

  test("allows buckets of 3 and of 63 characters", () => {
    for (const bucket of ["b0c", "b".repeat(63)]) expect(parseObjectUri(`s3://${bucket}/key`).bucket).toBe(bucket);
  });

  test("parses a formatted URI back to the same URI", () => {
    for (const text of ["s3://bucket/a//b", "s3://bucket/", "file:///data/x", "hdfs://host:1/x"]) {
      expect(formatObjectUri(parseObjectUri(text))).toBe(text);
    }
  });
});

function refusalOf(text: string): ObjectStoreError {
  try {
    parseObjectUri(text);
  } catch (error) {
    if (error instanceof ObjectStoreError) return error;
  }
  throw new Error("the URI was not rejected");
}
