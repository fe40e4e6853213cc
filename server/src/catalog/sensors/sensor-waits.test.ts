import { expect, test } from "vitest";
import { Fault } from "../../lib/fault.ts";
import { SensorWaits, type WaitedQuestion } from "./sensor-waits.ts";

const LONG_MS = 60_000;
const never = new AbortController().signal;
const ask = (key: string, size = 1): WaitedQuestion => ({ key, size });

/** A store with the results in `found`, and the checks that were made. */
function fakeStore(maxLookups = 10_000, everyMs = 20) {
  const found = new Map<string, boolean | Fault>();
  const checks: { accountId: number; keys: string[] }[] = [];
  let failure: Error | undefined;
  const waits = new SensorWaits<WaitedQuestion>({
    everyMs,
    maxLookups,
    check(accountId, questions) {
      checks.push({ accountId, keys: questions.map(({ key }) => key) });
      if (failure !== undefined) return Promise.reject(failure);
      return Promise.resolve(questions.map(({ key }) => found.get(key) ?? false));
    },
  });
  return { found, checks, waits, fail: (error: Error | undefined) => (failure = error) };
}

test("requests are answered as soon as the answer is true, and those of one account are checked together", async () => {
  const { found, checks, waits } = fakeStore();
  const all = Array.from({ length: 300 }, (_, at) => waits.wait(1, ask(`q${at % 3}`), LONG_MS, never));
  await expect.poll(() => checks.length).toBeGreaterThan(2);
  expect(checks.every(({ keys }) => keys.join() === "q0,q1,q2")).toBe(true);
  for (const key of ["q0", "q1", "q2"]) found.set(key, true);
  expect(new Set(await Promise.all(all))).toEqual(new Set([true]));
});

test("checks stop when no request waits any more", async () => {
  const { found, checks, waits } = fakeStore();
  found.set("a", true);
  expect(await waits.wait(1, ask("a"), LONG_MS, never)).toBe(true);
  expect(await waits.wait(1, ask("b"), 60, never)).toBe(false);
  const before = checks.length;
  expect(await waits.wait(2, ask("c"), 100, never)).toBe(false);
  expect(checks.slice(before).every(({ accountId }) => accountId === 2)).toBe(true);
});

test("each account is checked separately", async () => {
  const { checks, waits } = fakeStore();
  await Promise.all([waits.wait(1, ask("same"), 50, never), waits.wait(2, ask("same"), 50, never)]);
  expect(new Set(checks.map(({ accountId }) => accountId))).toEqual(new Set([1, 2]));
});

test("a request that arrives later is checked at once, not with the next check of the others", async () => {
  const { found, checks, waits } = fakeStore(undefined, LONG_MS);
  const client = new AbortController();
  const first = waits.wait(1, ask("first"), LONG_MS, client.signal);
  await expect.poll(() => checks).toHaveLength(1);
  found.set("second", true);
  expect(await waits.wait(1, ask("second"), LONG_MS, never)).toBe(true);
  expect(checks.map(({ keys }) => keys)).toEqual([["first"], ["second"]]);
  client.abort();
  expect(await first).toBe(false);
});

test("a request ends when its client disconnects, and the others keep waiting", async () => {
  const { found, waits } = fakeStore();
  const client = new AbortController();
  const [gone, stays] = [waits.wait(1, ask("a"), LONG_MS, client.signal), waits.wait(1, ask("a"), LONG_MS, never)];
  client.abort();
  expect(await gone).toBe(false);
  found.set("a", true);
  expect(await stays).toBe(true);
  expect(await waits.wait(1, ask("b"), LONG_MS, AbortSignal.abort())).toBe(false);
});

test("an invalid question is refused, and the others keep waiting", async () => {
  const { found, waits } = fakeStore();
  found.set("bad", new Fault("invalid", "no such table"));
  const other = waits.wait(1, ask("good"), LONG_MS, never);
  await expect(waits.wait(1, ask("bad"), LONG_MS, never)).rejects.toThrow("no such table");
  found.set("good", true);
  expect(await other).toBe(true);
});

test("requests wait for an unavailable store to return, and are refused when their time is over", async () => {
  const { found, waits, fail } = fakeStore();
  fail(new Fault("unavailable", "unavailable"));
  const patient = waits.wait(1, ask("a"), LONG_MS, never);
  await expect(waits.wait(1, ask("a"), 60, never)).rejects.toThrow("unavailable");
  fail(undefined);
  found.set("a", true);
  expect(await patient).toBe(true);
  fail(new Error("a mistake of ours"));
  await expect(waits.wait(1, ask("b"), LONG_MS, never)).rejects.toThrow("a mistake of ours");
});

test("a request is not answered before its first check has ended, even when its time is over", async () => {
  const check = Promise.withResolvers<(boolean | Fault)[]>();
  const waits = new SensorWaits<WaitedQuestion>({ everyMs: LONG_MS, check: () => check.promise });
  const waiting = waits.wait(1, ask("slow"), 1, never);
  setTimeout(() => check.resolve([new Fault("invalid", "no such table")]), 100);
  await expect(waiting).rejects.toThrow("no such table");
});

test("a request does not get the older result of a request that waits for the same", async () => {
  const { found, checks, waits } = fakeStore(undefined, LONG_MS);
  const first = waits.wait(1, ask("a"), LONG_MS, never);
  await expect.poll(() => checks).toHaveLength(1);
  found.set("a", true);
  expect(await waits.wait(1, ask("a"), 30, never)).toBe(true);
  expect(await first).toBe(true);
  expect(checks).toHaveLength(2);
});

test("a failed check that began before a request arrived does not answer it", async () => {
  const checks: PromiseWithResolvers<(boolean | Fault)[]>[] = [];
  const waits = new SensorWaits<WaitedQuestion>({
    everyMs: LONG_MS,
    check() {
      const check = Promise.withResolvers<(boolean | Fault)[]>();
      checks.push(check);
      return check.promise;
    },
  });
  const first = waits.wait(1, ask("a"), LONG_MS, never);
  first.catch(() => undefined);
  await expect.poll(() => checks).toHaveLength(1);
  const second = waits.wait(1, ask("a"), 1, never);
  checks[0]?.resolve([new Fault("invalid", "no such table")]);
  await expect(first).rejects.toThrow("no such table");
  await expect.poll(() => checks).toHaveLength(2);
  checks[1]?.resolve([false]);
  expect(await second).toBe(false);
});

test("the number of different lookups that an account waits for is limited", async () => {
  const { found, waits } = fakeStore(10);
  const held = [waits.wait(1, ask("a", 9), LONG_MS, never)];
  const refused = { code: "rate-limited", retryAfterSeconds: 30 };
  expect(() => waits.wait(1, ask("b", 2), LONG_MS, never)).toThrow(expect.objectContaining(refused));
  held.push(waits.wait(1, ask("a", 9), LONG_MS, never), waits.wait(2, ask("a"), LONG_MS, never));
  found.set("a", true);
  await Promise.all(held);
  found.set("b", true);
  expect(await waits.wait(1, ask("b", 2), LONG_MS, never)).toBe(true);
});
