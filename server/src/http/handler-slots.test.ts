import { availableParallelism } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { useServer } from "../../test/support/given.ts";
import { HandlerSlots } from "./handler-slots.ts";

const given = useServer();

const REQUESTS = 200;
/** More than the number of long requests that release their slot. */
const WAITING = 60;

test("a user who sends many requests at once, in several accounts, has few of them handled at a time", async () => {
  const first = await given.account();
  const accounts = [first];
  for (let n = 0; n < 5; n += 1) accounts.push(await given.account({ email: first.email }));
  const other = await given.account();
  // Handlers wait for this lock, or for a connection.
  const lock = new Client(given.database.connection);
  await lock.connect();
  onTestFinished(() => lock.end());
  await lock.query("begin; lock table cluster in access exclusive mode");
  const handled = countHandled();
  await other.get("/account"); // the user has more slots while alone
  const statuses = Array.from({ length: REQUESTS }, async (_, n) => {
    const client = accounts[n % accounts.length] ?? first;
    return (await client.get("/api/v2/clusters").reply()).status;
  });
  const slots = Math.min(8, Math.max(2, availableParallelism()));
  const maxWhileOtherAsks = async (): Promise<number> => {
    await other.get("/account");
    return handled.most;
  };
  await expect.poll(maxWhileOtherAsks).toBeGreaterThan(slots + 1); // the first requests count as long by now
  await lock.query("commit");
  expect(await Promise.all(statuses)).toEqual(Array(REQUESTS).fill(200));
  expect(handled.most).toBeLessThanOrEqual(slots + 1 + 6); // one belongs to the other user
});

/** The most requests that have been handled at the same time since the call. */
function countHandled(): { readonly most: number } {
  const acquire = Reflect.get(HandlerSlots.prototype, "acquire");
  const count = { now: 0, most: 0 };
  const spy = vi.spyOn(HandlerSlots.prototype, "acquire").mockImplementation(async function (
    this: HandlerSlots,
    owners,
  ) {
    const release: () => void = await acquire.call(this, owners);
    count.now += 1;
    count.most = Math.max(count.most, count.now);
    let isOver = false;
    return () => {
      if (!isOver) count.now -= 1;
      isOver = true;
      release();
    };
  });
  onTestFinished(() => spy.mockRestore());
  return count;
}

test("requests that wait for an event take no slots from other requests of their account", async () => {
  const account = await given.account();
  const files = [`file:${join(given.dataDir, "accounts", String(account.accountId), "storage", "missing")}`];
  let answered = 0;
  const waiting = Array.from({ length: WAITING }, async () => {
    await account.post("/sensors/file_sensor", { files, wait_seconds: 2 });
    answered += 1;
  });
  await expect.poll(() => answered, { interval: 1 }).toBeGreaterThan(0);
  // All of them have waited at the same time, so all are answered a second later.
  await account.post("/sensors/file_sensor", { files, wait_seconds: 1 });
  expect(answered).toBe(WAITING);
  await Promise.all(waiting);
});

describe("slots of handlers", () => {
  test("are limited for each owner, and released when a request is answered", async () => {
    const slots = new HandlerSlots(1, 1);
    const release = await slots.acquire(["user 1", "account 1"]);
    let isIn = false;
    const second = slots.acquire(["user 2", "account 1"]).then((releaseSecond) => {
      isIn = true;
      return releaseSecond;
    });
    const other = await slots.acquire(["user 3", "account 2"]);
    expect(isIn).toBe(false);
    release();
    release();
    (await second)();
    other();
    (await slots.acquire(["user 1", "account 1"]))();
  });

  test("are released by requests that take long, but by at most 6 of them at a time", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const slots = new HandlerSlots(1, 1);
    const entered: (() => void)[] = [];
    for (let n = 0; n < 20; n += 1) void slots.acquire(["user 1"]).then((release) => entered.push(release));
    const tick = (): Promise<unknown> => vi.advanceTimersByTimeAsync(100);
    await tick();
    expect(entered.length).toBe(2);
    for (let n = 0; n < 30; n += 1) await tick();
    expect(entered.length).toBe(7);
    entered[0]?.();
    entered[0]?.(); // releases no second slot
    for (let n = 0; n < 30; n += 1) await tick();
    expect(entered.length).toBe(8);
  });

  test("are more while no other user has sent a request for ten seconds", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const slots = new HandlerSlots(1, 3);
    const entered: (() => void)[] = [];
    const enterSoon = (user: string): void => void slots.acquire([user]).then((release) => entered.push(release));
    const turn = (): Promise<void> => new Promise((next) => setImmediate(next));
    for (let n = 0; n < 9; n += 1) enterSoon("user 1");
    await turn();
    expect(entered.length).toBe(3);
    (await slots.acquire(["user 2"]))();
    enterSoon("user 1");
    entered[0]?.();
    entered[1]?.();
    await turn();
    expect(entered.length).toBe(3); // one of three is still handled
    entered[2]?.();
    await turn();
    expect(entered.length).toBe(4);
    vi.advanceTimersByTime(10_000);
    entered[3]?.();
    await turn();
    expect(entered.length).toBe(7);
  });
});
