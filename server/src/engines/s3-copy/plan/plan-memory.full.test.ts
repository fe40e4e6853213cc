import { expect, test } from "vitest";
import { measurePlan } from "../../../../test/memory/plan-memory.ts";
import type { PlanOptions } from "./plan-context.ts";

test.each<[string, Partial<PlanOptions>, boolean, number]>([
  ["a plain copy", {}, false, 200_000],
  ["groups", { groupBy: ".*/(day=\\d+)/.*" }, false, 200_000],
  ["numbers and a codec", { startingIndex: 0, outputCodec: "lzo" }, false, 200_000],
  ["a previous manifest", {}, true, 100_000],
])("planning 200,000 files with %s takes a few MiB", async (_what, options, hasManifest, expected) => {
  const { files, growthMiB } = await measurePlan(200_000, options, hasManifest);
  expect(files).toBe(expected);
  expect(growthMiB).toBeLessThan(12);
});
