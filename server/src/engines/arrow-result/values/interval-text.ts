import { DAY_SECONDS } from "../../../lib/clock.ts";
import { MINUS, POINT, SPACE } from "./ascii.ts";
import type { ByteSink } from "./byte-sink.ts";
import { writeClock } from "./calendar-text.ts";
import { decimalText } from "./decimal-text.ts";
import { toBigInt, writeDigits, writeInteger, writeNatural } from "./number-text.ts";

const DAY_SECONDS_BIG = BigInt(DAY_SECONDS);

/** `1-2` for a year and two months. */
export function writeYearMonth(sink: ByteSink, months: number): void {
  if (months < 0) sink.byte(MINUS);
  const size = Math.abs(months);
  const years = Math.floor(size / 12);
  writeNatural(sink, years);
  sink.byte(MINUS);
  writeNatural(sink, size - years * 12);
}

/** `1 02:03:04.000000000`, from microseconds as the two halves of a 64-bit number. */
export function writeDayTime(sink: ByteSink, low: number, high: number): void {
  const all = toBigInt(low, high);
  if (all < 0n) sink.byte(MINUS);
  const size = all < 0n ? -all : all;
  // Spark prints this text for the smallest value, although it is arithmetically wrong.
  const seconds = all === MIN_INT64 ? MIN_INT64_SECONDS : size / 1_000_000n;
  const days = seconds / DAY_SECONDS_BIG;
  writeInteger(sink, Number(days));
  sink.byte(SPACE);
  writeClock(sink, Number(seconds - days * DAY_SECONDS_BIG));
  sink.byte(POINT);
  writeDigits(sink, Number(size % 1_000_000n), 6);
  sink.ascii("000");
}

const MIN_INT64 = -(2n ** 63n);
const MIN_INT64_SECONDS = 106_751_991n * DAY_SECONDS_BIG + 4n * 3600n + 54n;

/** `1 years 2 months 3 days 4 hours 5 minutes 6.5 seconds`, without units that are zero. */
export function calendarIntervalText(months: number, days: number, micros: bigint): string {
  const hours = micros / 3_600_000_000n;
  const minutes = (micros / 60_000_000n) % 60n;
  const seconds = micros % 60_000_000n;
  const parts = [
    part(Math.trunc(months / 12), "years"),
    part(months % 12, "months"),
    part(days, "days"),
    part(Number(hours), "hours"),
    part(Number(minutes), "minutes"),
    seconds === 0n ? "" : `${decimalText(seconds, 6).replace(/\.?0+$/, "")} seconds`,
  ].filter((text) => text !== "");
  return parts.length === 0 ? "0 seconds" : parts.join(" ");
}

function part(value: number, unit: string): string {
  return value === 0 ? "" : `${value} ${unit}`;
}
