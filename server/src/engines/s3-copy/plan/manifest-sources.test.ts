import { describe, expect, test } from "vitest";
import type { ManifestEntry } from "../manifest/manifest-entry.ts";
import { manifestSources } from "./manifest-sources.ts";

const LOCATION = "s3://own/prefix";

describe("the sources of a manifest", () => {
  async function* each(...entries: ManifestEntry[]): AsyncGenerator<ManifestEntry> {
    yield* entries;
  }

  test("are its paths relative to srcDir", async () => {
    const entries = each(
      { path: "s3n://buc/x/y/a b", baseName: "ignored", srcDir: "s3://buc/x", size: 3 },
      { path: "hdfs:/x/y", baseName: "y", srcDir: "hdfs:///x/", size: 4 },
      { path: "hdfs:/y", baseName: "y", srcDir: "hdfs:/", size: 5 },
      { path: "s3://buc/y", baseName: "y", srcDir: "s3://buc", size: 6 },
      { path: "storage:/x/y", baseName: "y", srcDir: "storage:///x", size: 7 },
    );
    expect((await Array.fromAsync(manifestSources(entries, LOCATION, 1))).flat()).toEqual([
      { uri: "s3://buc/x/y/a b", name: "y/a b", size: 3, modifiedMs: 0, etag: null, storageClass: null },
      { uri: "hdfs:///x/y", name: "y", size: 4, modifiedMs: 0, etag: null, storageClass: null },
      { uri: "hdfs:///y", name: "y", size: 5, modifiedMs: 0, etag: null, storageClass: null },
      { uri: "s3://buc/y", name: "y", size: 6, modifiedMs: 0, etag: null, storageClass: null },
      { uri: "s3://own/prefix/x/y", name: "y", size: 7, modifiedMs: 0, etag: null, storageClass: null },
    ]);
  });

  test.each([
    ["s3://buc/y/a", "s3://buc/x", "not below its srcDir"],
    ["s3://buc/xa", "s3://buc/x", "not below its srcDir"],
    ["s3://buc/x/", "s3://buc/x", "not below its srcDir"],
    ["relative", "s3://buc/x", "not an address of a file"],
    ["storage:/x/../y", "storage:/x", "no '.' or '..' in its path after storage:/"],
    ["s3://the_bucket/x/y", "s3://the_bucket/x", "a bucket with an underscore in its name is not supported"],
    ["s3n://A:hunter2@buc/x/y", "s3://buc/x", "not an address of a file"],
  ])("%s below %s is refused: %s", async (path, srcDir, message) => {
    const pages = manifestSources(each({ path, baseName: "a", srcDir, size: 1 }), LOCATION);
    await expect(Array.fromAsync(pages)).rejects.toThrow(message);
  });
});
