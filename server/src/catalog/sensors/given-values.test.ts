import { expect, test } from "vitest";
import { givenValues } from "./given-values.ts";

test.each([
  [
    ["a", 7, true, null],
    ["a", 7, true, null],
  ],
  ["[2026-01-31]", ["2026-01-31"]],
  [` [ a ,'b', "c d" ,7] `, ["a", "b", "c d", "7"]],
  ["['']", [""]],
  ["[a,,b]", ["a", "", "b"]],
  [`['a"]`, [`'a"`]],
  ["[']", ["'"]],
])("%j is %j", (given, expected) => {
  expect(givenValues("values", given)).toEqual(expected);
});

test.each([
  ["[]", /^values must have at least one value/],
  ["[ ]", /^values must have at least one value/],
  [[], /^values must have at least one value/],
  ["2026-01-31", /^values must be an array of values, or a string such as \[a, b\]$/],
  [7, /^values must be an array/],
  [{}, /^values must be an array/],
  [[[]], /^values\[0\] must be a string, a number/],
  [["a", {}], /^values\[1\] must be a string, a number/],
  [[2 ** 60], /^values\[0\] is too large for a JSON number/],
  [["x".repeat(257)], /^values\[0\] must have at most 256 characters/],
  [["\u0000"], /^values\[0\] must be well-formed Unicode/],
  [["\ud800"], /^values\[0\] must be well-formed Unicode/],
])("%j is refused", (given, message) => {
  expect(() => givenValues("values", given)).toThrow(message);
});
