import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ByteSink } from "./byte-sink.ts";
import { writeDate, writeTime, writeTimestamp } from "./calendar-text.ts";
import { zoneOffset } from "./time-zone.ts";

const written = (write: (sink: ByteSink) => void): string => {
  const sink = new ByteSink(64);
  write(sink);
  return sink.toText(0);
};
const halves = (value: bigint): [number, number] => {
  const [low = 0, high = 0] = new Int32Array(BigInt64Array.of(value).buffer);
  return [low, high];
};
const timestampText = (micros: bigint, zone?: string): string =>
  written((sink) => writeTimestamp(sink, ...halves(micros), zone === undefined ? undefined : zoneOffset(zone)));

/** JavaScript prints years outside of 0–9999 with a sign and six digits, Java with as many digits as needed. */
function isoDate(days: number): string {
  const [, sign = "", year = "", rest = ""] =
    /^([+-]?)(\d+)(-\d\d-\d\d)T/.exec(new Date(days * 86_400_000).toISOString()) ?? [];
  const digits = year.replace(/^0+/, "").padStart(4, "0");
  return `${digits.length > 4 || sign === "-" ? sign : ""}${digits}${rest}`;
}

test("dates are written in the proleptic Gregorian calendar", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.integer({ min: -100_000_000, max: 100_000_000 }), fc.integer({ min: -800_000, max: 800_000 })),
      (days) => {
        expect(written((sink) => writeDate(sink, days))).toBe(isoDate(days));
      },
    ),
    { numRuns: 5000 },
  );
});

test("timestamps have no trailing zeros, and no fraction if it is zero", () => {
  const range = 8_000_000_000_000_000_000n;
  fc.assert(
    fc.property(fc.bigInt({ min: -range, max: range }), (micros) => {
      const [seconds, fraction] = [micros / 1_000_000n, micros % 1_000_000n];
      const whole = fraction < 0n ? seconds - 1n : seconds;
      const part = String(fraction < 0n ? fraction + 1_000_000n : fraction)
        .padStart(6, "0")
        .replace(/0+$/, "");
      const days = whole >= 0n ? whole / 86_400n : -((-whole + 86_399n) / 86_400n);
      const clock = new Date(Number(whole - days * 86_400n) * 1000).toISOString().slice(11, 19);
      expect(timestampText(micros)).toBe(`${isoDate(Number(days))} ${clock}${part === "" ? "" : `.${part}`}`);
    }),
    { numRuns: 3000 },
  );
});

describe("a time zone", () => {
  test.each([
    ["UTC", "2024-07-01 00:00:00"],
    ["Z", "2024-07-01 00:00:00"],
    ["+01:00", "2024-07-01 01:00:00"],
    ["-7", "2024-06-30 17:00:00"],
    ["GMT+5:45", "2024-07-01 05:45:00"],
    ["UTC-03:30", "2024-06-30 20:30:00"],
    ["+010203", "2024-07-01 01:02:03"],
    ["PST", "2024-06-30 17:00:00"],
    ["EST", "2024-06-30 19:00:00"],
    ["Europe/Berlin", "2024-07-01 02:00:00"],
    ["Etc/GMT+5", "2024-06-30 19:00:00"],
  ])("%s shows 2024-07-01T00:00:00Z as %s", (zone, text) => {
    expect(timestampText(1_719_792_000_000_000n, zone)).toBe(text);
  });

  test("changes its offset at the exact second", () => {
    const change = 1_711_846_800_000_000n; // 2024-03-31T01:00:00Z
    expect(timestampText(change - 1n, "Europe/Berlin")).toBe("2024-03-31 01:59:59.999999");
    expect(timestampText(change, "Europe/Berlin")).toBe("2024-03-31 03:00:00");
  });

  test("shows the same wall clock time as Intl", () => {
    const zones = [
      "America/New_York",
      "Europe/London",
      "Asia/Kolkata",
      "Pacific/Apia",
      "Africa/Monrovia",
      "Australia/Lord_Howe",
    ];
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.integer({ min: -2_000_000_000, max: 4_000_000_000 }),
        (zone, seconds) => {
          const clock = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "medium" });
          expect(timestampText(BigInt(seconds) * 1_000_000n, zone)).toBe(clock.format(seconds * 1000));
        },
      ),
      { numRuns: 1000 },
    );
  });

  test("with an unknown name is an error", () => {
    expect(() => timestampText(0n, "Nowhere/Else")).toThrow("Nowhere/Else");
  });
});

test.each([
  [0n, "00:00:00"],
  [86_399_999_999_999n, "23:59:59.999999999"],
  [3_600_000_001_000n, "01:00:00.000001"],
  [1_500_000_000n, "00:00:01.5"],
  [1n, "00:00:00.000000001"],
])("%d nanoseconds after midnight are written as %s", (nanos, text) => {
  expect(written((sink) => writeTime(sink, ...halves(nanos)))).toBe(text);
});
