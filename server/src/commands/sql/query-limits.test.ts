import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { after } from "../../lib/after.ts";
import { whenLeaseIsOver } from "./query-limits.ts";
import { LineLog } from "../execution/line-log.ts";

describe("a query's time", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());
  const DAY = 24 * 3600 * 1000;

  test("may be longer than a timer can wait", () => {
    let fired = 0;
    after(60 * DAY, () => (fired += 1));
    vi.advanceTimersByTime(59 * DAY);
    expect(fired).toBe(0);
    vi.advanceTimersByTime(2 * DAY);
    expect(fired).toBe(1);
  });

  test("that is over already ends it at once, unless it is called off", () => {
    const fired: string[] = [];
    after(-5, () => fired.push("late"));
    after(1000, () => fired.push("called off"))();
    vi.advanceTimersByTime(5000);
    expect(fired).toEqual(["late"]);
  });

  test("ends once when the node's lease is over", () => {
    let [isOver, ends] = [false, 0];
    whenLeaseIsOver({ checkSeconds: 1, logBytes: 1, outputBytes: null, isLeaseOver: () => isOver }, () => (ends += 1));
    vi.advanceTimersByTime(60_000);
    expect(ends).toBe(0);
    isOver = true;
    vi.advanceTimersByTime(60_000);
    expect(ends).toBe(1);
  });
});

describe("the log of a query", () => {
  const folder = mkdtempSync(join(tmpdir(), "headgate-query-log-"));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test("ends at its limit, also after a restart, and says why it failed all the same", async () => {
    const path = join(folder, "log");
    for (let start = 0; start < 2; start += 1) {
      const log = new LineLog(path, 1000);
      for (let line = 0; line < 100; line += 1) await log.say("statement 1 of 100: select 1");
    }
    await new LineLog(path, 1000).explain(`[SOME_ERROR] ${"x".repeat(100_000)}`);
    const text = readFileSync(path, "utf8");
    expect(text).toContain("the log has reached its limit of 1000 bytes");
    expect(text).toContain("[SOME_ERROR] xxx");
    expect(text.length).toBeLessThan(1300 + 64 * 1024 + 100);
  });
});
