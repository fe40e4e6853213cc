import { describe, expect, test } from "vitest";
import { noValue } from "../../engines/hive-thrift/partition-name.ts";
import { spellings, type GivenValue } from "./value-spellings.ts";

const cases: [type: string, given: GivenValue, expected: readonly string[] | undefined][] = [
  ["string", "a/b=c", ["a/b=c"]],
  ["string", "07", ["07"]],
  ["string", 7, ["7"]],
  ["string", true, ["true"]],
  ["string", " x ", [" x "]],
  ["varchar(7)", "ab", ["ab"]],
  ["char(4)", "ab", ["ab  ", "ab"]],
  ["int", 7, ["7"]],
  ["int", "7", ["7"]],
  ["int", "07", ["7", "07"]],
  ["int", "+7", ["7", "+7"]],
  ["bigint", "-0", ["0", "-0"]],
  ["bigint", "9223372036854775807", ["9223372036854775807"]],
  ["int", "seven", undefined],
  ["int", 7.5, undefined],
  ["smallint", "1e3", undefined],
  ["date", "2026-01-31", ["2026-01-31"]],
  ["date", "2026-1-5", ["2026-01-05", "2026-1-5"]],
  ["date", "2026-01-31T08:30:00Z", ["2026-01-31", "2026-01-31T08:30:00Z"]],
  ["date", "2024-02-29", ["2024-02-29"]],
  ["date", "2026-02-29", undefined],
  ["date", "2026-13-01", undefined],
  ["date", "20260131", undefined],
  ["date", 20_260_131, undefined],
  ["timestamp", "2026-01-31T08:30:00", ["2026-01-31 08:30:00", "2026-01-31 08:30:00.0", "2026-01-31T08:30:00"]],
  ["timestamp", "2026-01-31 08:30:00.120", ["2026-01-31 08:30:00.12", "2026-01-31 08:30:00.120"]],
  ["timestamp", "2026-01-31", ["2026-01-31 00:00:00", "2026-01-31 00:00:00.0", "2026-01-31"]],
  ["timestamp", "soon", ["soon"]],
  ["boolean", true, ["true"]],
  ["boolean", "TRUE", ["true", "TRUE"]],
  ["boolean", 0, ["false", "0"]],
  ["boolean", "maybe", undefined],
  ["decimal(10,2)", 1.5, ["1.50", "1.5"]],
  ["decimal(10,2)", "01.500", ["1.50", "1.5", "01.500"]],
  ["decimal(10,0)", "-0", ["0", "-0"]],
  ["decimal(4,2)", "-.5", undefined],
  ["decimal(4,2)", -0.5, ["-0.50", "-0.5"]],
  ["double", 1, ["1.0", "1"]],
  ["double", "1e10", ["1.0E10", "1e10"]],
  ["float", "0.00012", ["1.2E-4", "0.00012"]],
  ["double", "NaN", ["NaN"]],
  ["double", "x", undefined],
  ["binary", "x", ["x"]],
  ["int", null, [noValue]],
  ["date", "", [noValue]],
  ["string", noValue, [noValue]],
  ["date", noValue, [noValue]],
];

describe("the spellings of a value", () => {
  test.each(cases)("%s %j: %j", (type, given, expected) => {
    expect(spellings(type, given)).toEqual(expected);
  });
});
