import { expect, test } from "vitest";
import { Fault } from "../../lib/fault.ts";
import { SensorWaits, type WaitedQuestion, type WaitingLimits } from "./sensor-waits.ts";

const LONG_MS = 60_000;
const never = new AbortController().signal;
const ask = (key: string, size = 1): WaitedQuestion => ({ key, size });

/** What there is to find, and every look for it. */
function world(limits: Partial<WaitingLimits> = {}, everyMs = 20) {
  const found = new Map<string, boolean | Fault>();
  const looks: { accountId: number; keys: string[] }[] = [];
  let failure: Error | undefined;
  const waits = new SensorWaits<WaitedQuestion>({
    everyMs,
    limits,
    look(accountId, questions) {
      looks.push({ accountId, keys: questions.map(({ key }) => key) });
      if (failure !== undefined) return Promise.reject(failure);
      return Promise.resolve(questions.map(({ key }) => found.get(key) ?? false));
    },
  });
  return { found, looks, waits, fail: (error: Error | undefined) => (failure = error) };
}

test("whoever waits is told as soon as it is true, and those of one account cost one look", async () => {
  const { found, looks, waits } = world();
  const all = Array.from({ length: 300 }, (_, at) => waits.wait(1, ask(`q${at % 3}`), LONG_MS, never));
  await expect.poll(() => looks.length).toBeGreaterThan(2);
  expect(looks.every(({ keys }) => keys.join() === "q0,q1,q2")).toBe(true);
  for (const key of ["q0", "q1", "q2"]) found.set(key, true);
  expect(new Set(await Promise.all(all))).toEqual(new Set([true]));
});

test("nobody waits any more: nobody looks", async () => {
  const { found, looks, waits } = world();
  found.set("a", true);
  expect(await waits.wait(1, ask("a"), LONG_MS, never)).toBe(true);
  expect(await waits.wait(1, ask("b"), 60, never)).toBe(false);
  const before = looks.length;
  expect(await waits.wait(2, ask("c"), 100, never)).toBe(false);
  expect(looks.slice(before).every(({ accountId }) => accountId === 2)).toBe(true);
});

test("accounts are looked for each on its own", async () => {
  const { looks, waits } = world();
  await Promise.all([waits.wait(1, ask("same"), 50, never), waits.wait(2, ask("same"), 50, never)]);
  expect(new Set(looks.map(({ accountId }) => accountId))).toEqual(new Set([1, 2]));
});

test("one that comes later is looked for at once, and not in the others' turn", async () => {
  const { found, looks, waits } = world({}, LONG_MS);
  const client = new AbortController();
  const first = waits.wait(1, ask("first"), LONG_MS, client.signal);
  await expect.poll(() => looks).toHaveLength(1);
  found.set("second", true);
  expect(await waits.wait(1, ask("second"), LONG_MS, never)).toBe(true);
  expect(looks.map(({ keys }) => keys)).toEqual([["first"], ["second"]]);
  client.abort();
  expect(await first).toBe(false);
});

test("when the client goes away it is over at once, for that one alone", async () => {
  const { found, waits } = world();
  const client = new AbortController();
  const [gone, stays] = [waits.wait(1, ask("a"), LONG_MS, client.signal), waits.wait(1, ask("a"), LONG_MS, never)];
  client.abort();
  expect(await gone).toBe(false);
  found.set("a", true);
  expect(await stays).toBe(true);
  expect(await waits.wait(1, ask("b"), LONG_MS, AbortSignal.abort())).toBe(false);
});

test("a question that can have no answer is refused, and the others wait on", async () => {
  const { found, waits } = world();
  found.set("bad", new Fault("invalid", "no such table"));
  const other = waits.wait(1, ask("good"), LONG_MS, never);
  await expect(waits.wait(1, ask("bad"), LONG_MS, never)).rejects.toThrow("no such table");
  found.set("good", true);
  expect(await other).toBe(true);
});

test("a store that is away is waited for; who has no time left is told", async () => {
  const { found, waits, fail } = world();
  fail(new Fault("unavailable", "away"));
  const patient = waits.wait(1, ask("a"), LONG_MS, never);
  await expect(waits.wait(1, ask("a"), 60, never)).rejects.toThrow("away");
  fail(undefined);
  found.set("a", true);
  expect(await patient).toBe(true);
  fail(new Error("a mistake of ours"));
  await expect(waits.wait(1, ask("b"), LONG_MS, never)).rejects.toThrow("a mistake of ours");
});

test("nobody is told anything before somebody has looked", async () => {
  const look = Promise.withResolvers<(boolean | Fault)[]>();
  const waits = new SensorWaits<WaitedQuestion>({ everyMs: LONG_MS, look: () => look.promise });
  const waiting = waits.wait(1, ask("slow"), 1, never);
  setTimeout(() => look.resolve([new Fault("invalid", "no such table")]), 100);
  await expect(waiting).rejects.toThrow("no such table");
});

test("what came before somebody asked is not told as missing, whoever waits for the same already", async () => {
  const { found, looks, waits } = world({}, LONG_MS);
  const first = waits.wait(1, ask("a"), LONG_MS, never);
  await expect.poll(() => looks).toHaveLength(1);
  found.set("a", true);
  expect(await waits.wait(1, ask("a"), 30, never)).toBe(true);
  expect(await first).toBe(true);
  expect(looks).toHaveLength(2);
});

test("a look that had begun when somebody asked is none for them, whatever it finds", async () => {
  const looks: PromiseWithResolvers<(boolean | Fault)[]>[] = [];
  const waits = new SensorWaits<WaitedQuestion>({
    everyMs: LONG_MS,
    look() {
      const look = Promise.withResolvers<(boolean | Fault)[]>();
      looks.push(look);
      return look.promise;
    },
  });
  const first = waits.wait(1, ask("a"), LONG_MS, never);
  first.catch(() => undefined);
  await expect.poll(() => looks).toHaveLength(1);
  const second = waits.wait(1, ask("a"), 1, never);
  looks[0]?.resolve([new Fault("invalid", "no such table")]);
  await expect(first).rejects.toThrow("no such table");
  await expect.poll(() => looks).toHaveLength(2);
  looks[1]?.resolve([false]);
  expect(await second).toBe(false);
});

test("there is a place for so many", async () => {
  const { found, waits } = world({ perAccount: 2, perNode: 3, lookups: 10 });
  const refused = { code: "rate-limited", retryAfterSeconds: 30 };
  const held = [waits.wait(1, ask("a", 9), LONG_MS, never)];
  expect(() => waits.wait(1, ask("b", 2), LONG_MS, never)).toThrow(expect.objectContaining(refused));
  held.push(waits.wait(1, ask("a", 9), LONG_MS, never));
  expect(() => waits.wait(1, ask("a", 9), LONG_MS, never)).toThrow(expect.objectContaining(refused));
  held.push(waits.wait(2, ask("a"), LONG_MS, never));
  expect(() => waits.wait(3, ask("a"), LONG_MS, never)).toThrow(expect.objectContaining(refused));
  found.set("a", true);
  await Promise.all(held);
  expect(await waits.wait(3, ask("a"), LONG_MS, never)).toBe(true);
});
