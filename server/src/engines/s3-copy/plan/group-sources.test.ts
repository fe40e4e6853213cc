import { describe, expect, test } from "vitest";
import { lastSegment } from "./group-sources.ts";

describe("the last segment of a group's key", () => {
  test.each([
    ["a/b", "b"],
    ["a/b//", "b"],
    ["a", "a"],
    ["//", ""],
    ["", ""],
  ])("of %j is %j", (key, segment) => {
    expect(lastSegment(key)).toBe(segment);
  });

  test("is found in a moment even after very many slashes", { timeout: 5_000 }, () => {
    expect(lastSegment(`${"/".repeat(200_000)}x`)).toBe("x");
  });
});
