import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { DAY_MS } from "./clock.ts";
import { longTimeout } from "./long-timeout.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("the time may be longer than one timer can wait", () => {
  let fired = 0;
  longTimeout(60 * DAY_MS, () => (fired += 1));
  vi.advanceTimersByTime(59 * DAY_MS);
  expect(fired).toBe(0);
  vi.advanceTimersByTime(2 * DAY_MS);
  expect(fired).toBe(1);
});

test("a time in the past fires at once, and a cancelled timer never does", () => {
  const fired: string[] = [];
  longTimeout(-5, () => fired.push("late"));
  longTimeout(1000, () => fired.push("cancelled"))();
  vi.advanceTimersByTime(5000);
  expect(fired).toEqual(["late"]);
});
