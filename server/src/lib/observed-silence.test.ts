import { expect, test } from "vitest";
import { ObservedSilence } from "./observed-silence.ts";

const GAP = { longestGapMs: 15_000 };

/** Looks at one thing at the given seconds of the observer's clock. */
function silence(looks: readonly (readonly [second: number, sign: string])[], answerMs = 0): number {
  const observed = new ObservedSilence<string>(GAP);
  for (const [second, sign] of looks) observed.look([["a", sign]], second * 1000, second * 1000 + answerMs);
  return observed.silentMs("a");
}

test("silence is the time between looks that saw the same sign", () => {
  expect(silence([[0, "1"]])).toBe(0);
  expect(
    silence([
      [100, "1"],
      [105, "1"],
      [110, "1"],
    ]),
  ).toBe(10_000);
});

test("a new sign ends it, whether it is larger or smaller", () => {
  for (const sign of ["9", "1"]) {
    expect(
      silence([
        [0, "5"],
        [5, "5"],
        [10, sign],
        [12, sign],
      ]),
    ).toBe(2000);
  }
});

test("a gap in which the observer did not look does not count", () => {
  expect(
    silence([
      [0, "1"],
      [5, "1"],
      [905, "1"],
      [910, "1"],
    ]),
  ).toBe(10_000);
});

test("the time in which the answer was under way does not count", () => {
  expect(
    silence(
      [
        [0, "1"],
        [5, "1"],
      ],
      2000,
    ),
  ).toBe(3000);
});

test("things that are missing are forgotten", () => {
  const observed = new ObservedSilence<string>(GAP);
  observed.look([["a", "1"]], 0, 0);
  observed.look([], 5000, 5000);
  observed.look([["a", "1"]], 10_000, 10_000);
  expect(observed.silentMs("a")).toBe(0);
});
