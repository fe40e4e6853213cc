import { expect, test } from "vitest";
import { RequestLimiter } from "./request-limiter.ts";

/** Starts requests until one has to wait. */
function fill(limiter: RequestLimiter): number {
  let count = 0;
  while (limiter.tryEnter()) count += 1;
  return count;
}

test("the limit halves once for all requests that were sent together, down to one request", () => {
  const limiter = new RequestLimiter(16);
  const { generation } = limiter;
  for (let index = 0; index < 16; index += 1) limiter.slowDown(generation);
  expect(limiter.limit).toBe(8);
  for (let index = 0; index < 10; index += 1) limiter.slowDown(limiter.generation);
  expect(limiter.limit).toBe(1);
  expect(fill(limiter)).toBe(1);
});

test("successes raise the limit slowly, up to its maximum", () => {
  const limiter = new RequestLimiter(16);
  limiter.slowDown(limiter.generation);
  for (let index = 0; index < 8; index += 1) limiter.succeeded();
  expect(limiter.limit).toBe(8);
  limiter.succeeded();
  expect(limiter.limit).toBe(9);
  for (let index = 0; index < 1000; index += 1) limiter.succeeded();
  expect(fill(limiter)).toBe(16);
});

test("waiting requests are admitted in their order as others leave", async () => {
  const limiter = new RequestLimiter(1);
  fill(limiter);
  const admitted: number[] = [];
  const waiting = [1, 2, 3].map(async (number) => {
    await limiter.enter(undefined);
    admitted.push(number);
    limiter.leave();
  });
  limiter.leave();
  await Promise.all(waiting);
  expect(admitted).toEqual([1, 2, 3]);
});

test("a request that is aborted while it waits takes no slot", async () => {
  const limiter = new RequestLimiter(1);
  fill(limiter);
  const calling = new AbortController();
  const aborted = limiter.enter(calling.signal);
  const patient = limiter.enter(undefined);
  calling.abort(new Error("enough"));
  await expect(aborted).rejects.toThrow("enough");
  await expect(limiter.enter(calling.signal)).rejects.toThrow("enough");
  limiter.leave();
  await patient;
  limiter.leave();
  expect(fill(limiter)).toBe(1);
});
