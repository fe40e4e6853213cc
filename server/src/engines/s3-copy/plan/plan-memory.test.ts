import { expect, test } from "vitest";
import { measurePlan } from "../../../../test/memory/plan-memory.ts";

test("planning 40,000 files in groups takes less memory than their listing", async () => {
  const { files, growthMiB } = await measurePlan(40_000, { groupBy: ".*/(day=\\d+)/.*" });
  expect(files).toBe(40_000);
  expect(growthMiB).toBeLessThan(8);
});
