import { expect, test } from "vitest";
import { addFailure, formatFailedCleanUp, parseFailedCleanUp, type FailedCleanUp } from "./clean-up-schedule.ts";

/** The pauses in seconds after each failure, if each try is made when it is due. */
function pauses(count: number, random: number): number[] {
  let failed: FailedCleanUp | undefined;
  let now = 1_000_000;
  return Array.from({ length: count }, () => {
    failed = addFailure(failed, now, random);
    const pause = (failed.dueAt - now) / 1000;
    now = failed.dueAt;
    return pause;
  });
}

test("the pause after a failure doubles up to five minutes", () => {
  expect(pauses(8, 1)).toEqual([10, 20, 40, 80, 160, 300, 300, 300]);
});

test("a quarter of the pause is random", () => {
  expect(pauses(6, 0)).toEqual([7.5, 15, 30, 60, 120, 225]);
});

test("hours of failures do not overflow the pause, and the first failure is remembered", () => {
  let failed = addFailure(undefined, 5, 0);
  for (let at = 0; at < 2000; at += 1) failed = addFailure(failed, 6, 1);
  expect(failed).toEqual({ failures: 2001, firstFailedAt: 5, dueAt: 6 + 300_000 });
});

test("a stored failure is read back; an empty or damaged entry counts as none", () => {
  const failed = addFailure(undefined, 1_700_000_000_000, 0.123);
  expect(parseFailedCleanUp(formatFailedCleanUp(failed))).toEqual(failed);
  for (const text of ["", "x", "1 2", "1 2 x"]) expect(parseFailedCleanUp(text)).toBeUndefined();
});
