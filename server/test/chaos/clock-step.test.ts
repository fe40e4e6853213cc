import { expect, test } from "vitest";
import { CLOCK_STEP_SECONDS, withoutStep } from "./clock-step.ts";

const STEP_MS = CLOCK_STEP_SECONDS * 1000;
const now = 1_700_000_000_000;
const aMinuteAgo = now - 60_000;

test.each([
  ["right", aMinuteAgo],
  ["ahead", aMinuteAgo + STEP_MS],
  ["late", aMinuteAgo - STEP_MS],
])("the time of an event is known although the clock that stored it was %s", (_, storedMs) => {
  expect(withoutStep(storedMs, now)).toBe(aMinuteAgo);
});
