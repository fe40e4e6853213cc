import type { BigIntStats } from "node:fs";
import { expect, test } from "vitest";
import { fileStat } from "./stat-of.ts";

test.each([
  [0n, "1970-01-01T00:00:00.000Z"],
  [1_700_000_000_123_456_789n, "2023-11-14T22:13:20.123Z"],
  [2n ** 63n * 1_000_000_000n, "9999-12-31T00:00:00.000Z"],
  [-(2n ** 63n) * 1_000_000_000n, "1900-01-01T00:00:00.000Z"],
])("a file's time of %i ns can be shown", (mtimeNs, shown) => {
  const stats = { size: 1n, ino: 1n, mtimeNs } as BigIntStats; // what is read
  expect(fileStat(stats).modifiedAt.toISOString()).toBe(shown);
});
