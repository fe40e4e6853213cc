import { expect, test } from "vitest";
import { eachChoice, fullNames } from "./partition-question.ts";

const keys = [{ name: "day" }, { name: "hour" }];

test("a combination of all keys has one name for each spelling", () => {
  expect(fullNames([["2026-01-31"], ["7", "07"]], keys)).toEqual(["day=2026-01-31/hour=7", "day=2026-01-31/hour=07"]);
  expect(fullNames([["a/b"], [""]], keys)).toEqual(["day=a%2Fb/hour=__HIVE_DEFAULT_PARTITION__"]);
  expect(fullNames([["2026-01-31"], undefined], keys)).toBeUndefined();
});

test("the number of spellings to look up stays small, however many keys there are", () => {
  const both = ["7", "07"];
  expect(eachChoice([both, both, both])).toHaveLength(8);
  expect(eachChoice([both, both, both, both])).toEqual([
    ["7", "7", "7", "7"],
    ["07", "07", "07", "07"],
  ]);
  expect(eachChoice(Array.from({ length: 64 }, () => both))).toHaveLength(2);
});

test("names longer than Hive allows are not looked up", () => {
  const long = "x".repeat(750);
  expect(fullNames([[long], ["7", "00000007"]], keys)).toEqual([`day=${long}/hour=7`]);
  expect(fullNames([["x".repeat(768)], ["7"]], keys)).toEqual([]);
});
