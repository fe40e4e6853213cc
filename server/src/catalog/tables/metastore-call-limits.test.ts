import { expect, test } from "vitest";
import { MetastoreCallLimits } from "./metastore-call-limits.ts";

const MIB = 1024 * 1024;
const later = (): AbortSignal => AbortSignal.timeout(30_000);
const nodeIsBusy = { code: "unavailable", retryAfterSeconds: 5 };
const accountIsBusy = { code: "rate-limited", retryAfterSeconds: 5 };

test("one account gets at most half of the calls, and others get the rest until none is left", async () => {
  const limits = new MetastoreCallLimits({ calls: 4, waitMs: 20 });
  const enter = (accountId: number) => limits.of(accountId).enter(later());
  await enter(1);
  await enter(1);
  await expect(enter(1)).rejects.toMatchObject(accountIsBusy);
  await enter(2);
  await enter(3);
  await expect(enter(4)).rejects.toMatchObject(nodeIsBusy);
});

test("a waiting call starts when another one ends, unless its client disconnects first", async () => {
  const limits = new MetastoreCallLimits({ calls: 2 });
  const gone = new AbortController();
  const [one] = [await limits.of(1).enter(later()), await limits.of(2).enter(later())];
  const left = limits.of(3).enter(gone.signal);
  const waiting = limits.of(4).enter(later());
  gone.abort(new Error("gone"));
  await expect(left).rejects.toThrow("gone");
  one.end();
  (await waiting).release();
  one.release();
  await limits.of(1).enter(later());
});

test("the memory of an answer counts until it is released", async () => {
  const limits = new MetastoreCallLimits({ bytes: 8 * MIB, waitMs: 20 });
  const enter = (accountId: number) => limits.of(accountId).enter(later());
  const large = await enter(1);
  large.pay(4 * MIB);
  expect(() => large.pay(1)).toThrow(expect.objectContaining(accountIsBusy));
  large.end();
  const other = await enter(2);
  other.pay(3 * MIB);
  await expect(enter(1)).rejects.toMatchObject(accountIsBusy);
  await expect(enter(2)).rejects.toMatchObject(nodeIsBusy);
  await enter(3);
  large.release();
  large.release();
  other.pay(1 * MIB);
  expect(() => other.pay(1 * MIB)).toThrow(expect.objectContaining(accountIsBusy));
});
