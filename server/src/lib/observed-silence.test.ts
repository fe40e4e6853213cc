import { expect, test } from "vitest";
import { ObservedSilence } from "./observed-silence.ts";

const GAP = { maxGapMs: 15_000 };

/** Observes one key at the given seconds of the observer's clock. */
function silence(looks: readonly (readonly [second: number, sign: string])[], answerMs = 0): number {
  const observed = new ObservedSilence<string>(GAP);
  for (const [second, sign] of looks) observed.observe([["a", sign]], second * 1000, second * 1000 + answerMs);
  return observed.silentMs("a");
}

test("silence is the time between observations of the same sign", () => {
  expect(silence([[0, "1"]])).toBe(0);
  expect(
    silence([
      [100, "1"],
      [105, "1"],
      [110, "1"],
    ]),
  ).toBe(10_000);
});

test("a new sign ends the silence, whether it is larger or smaller", () => {
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

test("a gap without observations does not count", () => {
  expect(
    silence([
      [0, "1"],
      [5, "1"],
      [905, "1"],
      [910, "1"],
    ]),
  ).toBe(10_000);
});

test("the time that reading the signs took does not count", () => {
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

test("keys without a sign are forgotten", () => {
  const observed = new ObservedSilence<string>(GAP);
  observed.observe([["a", "1"]], 0, 0);
  observed.observe([], 5000, 5000);
  observed.observe([["a", "1"]], 10_000, 10_000);
  expect(observed.silentMs("a")).toBe(0);
});
