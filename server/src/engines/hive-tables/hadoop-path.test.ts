import { expect, it } from "vitest";
import { hadoopPath } from "./hadoop-path.ts";

it.each([
  ["file:///a/b/", "file:/a/b"],
  ["file:/a/b", "file:/a/b"],
  ["file:///", "file:/"],
  ["/a//b", "/a/b"],
  ["s3a://bucket/a//b/k=a%2Fb/", "s3a://bucket/a/b/k=a%2Fb"],
  ["s3a://bucket/dt=2026-11-15 07:00", "s3a://bucket/dt=2026-11-15 07:00"],
  ["hdfs://[::1]:8020/Köln", "hdfs://[::1]:8020/Köln"],
])("%s is normalised to %s", (location, normalised) => {
  expect(hadoopPath(location)).toBe(normalised);
});
