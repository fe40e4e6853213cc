import { expect, test } from "vitest";
import { sourceFile, useCopyPlans } from "../../../../test/support/copy-plans.ts";
import type { PlanOptions } from "./plan-context.ts";

const GIB = 1024 ** 3;
const plans = useCopyPlans();

/** The number of sources that are planned, and the failure that follows. */
async function planned(
  options: Partial<PlanOptions>,
  largestBytes: number | null,
  sizes: number[],
): Promise<[number, unknown]> {
  const sources = sizes.map((size, at) => sourceFile(`log-${at}`, { size }));
  const plan = plans.plan(sources, options, { largestBytes });
  let count = 0;
  try {
    for await (const output of plan) count += output.sourceCount;
    return [count, null];
  } catch (error) {
    return [count, error];
  } finally {
    plan.close();
  }
}

const tooLarge: unknown = expect.objectContaining({
  message: expect.stringMatching(/would be larger than 5 GiB, .* remove --disableMultipartUpload\.$/),
});

test("a plan that is complete before its first output refuses an output that is too large before the first one", async () => {
  const limit = 5 * GIB;
  const groups = { groupBy: ".*/(log)-.*" };
  expect(await planned({ startingIndex: 0 }, limit, [1, limit])).toEqual([2, null]);
  expect(await planned({ startingIndex: 0 }, limit, [1, limit + 1])).toEqual([0, tooLarge]);
  expect(await planned(groups, limit, [limit / 2, limit / 2 + 1])).toEqual([0, tooLarge]);
  expect(await planned(groups, null, [limit, limit])).toEqual([2, null]);
});

test("a plan that is made while sources are listed refuses such an output when it is listed", async () => {
  expect(await planned({}, 5 * GIB, [1, 2, 5 * GIB + 1])).toEqual([2, tooLarge]);
});

test("an output whose compression changes is not refused, because it may become small enough", async () => {
  expect(await planned({ outputCodec: "gzip" }, 5 * GIB, [6 * GIB])).toEqual([1, null]);
});
