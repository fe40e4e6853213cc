import { pino } from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { runPeriodically } from "./periodic.ts";

const log = pino({ enabled: false });

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function tasks() {
  const runs: string[] = [];
  const task = (name: string, everySeconds: number) => ({
    name,
    everySeconds,
    run: async () => {
      runs.push(name);
      if (name === "fails") throw new Error("it fails");
    },
  });
  return { runs, list: [task("often", 60), task("fails", 60), task("rare", 600), task("rarer", 700)] };
}

test("tasks with a period of up to a minute run at once, the others one by one within a minute", async () => {
  const { runs, list } = tasks();
  const running = runPeriodically(list, log);
  expect(runs).toEqual(["often", "fails"]);
  await vi.advanceTimersByTimeAsync(45_000);
  expect(runs).toContain("rare");
  expect(runs).not.toContain("rarer");
  await vi.advanceTimersByTimeAsync(15_000);
  expect(runs).toContain("rarer");
  await running.stop();
});

test("a task runs again after its period, also if it failed", async () => {
  const { runs, list } = tasks();
  const running = runPeriodically(list, log);
  await vi.advanceTimersByTimeAsync(121_000);
  expect(runs.filter((name) => name === "often")).toHaveLength(3);
  expect(runs.filter((name) => name === "fails")).toHaveLength(3);
  await running.stop();
});

test("tasks that wait for their first run do not run any more once they are stopped", async () => {
  const { runs, list } = tasks();
  const running = runPeriodically(list, log);
  await running.stop();
  await vi.advanceTimersByTimeAsync(2_000_000);
  expect(runs).toEqual(["often", "fails"]);
});
