/** Dates and times in the proleptic Gregorian calendar, as java.time writes them. */
import { DAY_SECONDS } from "../../../lib/clock.ts";
import { COLON, MINUS, PLUS, POINT, SPACE } from "./ascii.ts";
import type { ByteSink } from "./byte-sink.ts";
import { isExactNumber, toBigInt, toNumber, writeDigits, writeNatural } from "./number-text.ts";

const ERA_DAYS = 146_097;
/** From 0000-03-01 to 1970-01-01. */
const EPOCH_DAYS = 719_468;

/** Days since 1970-01-01. */
export function writeDate(sink: ByteSink, days: number): void {
  // If years start in March, the leap day is the last day of a year, and every era of 400 years has the same length.
  const shifted = days + EPOCH_DAYS;
  const era = Math.floor(shifted / ERA_DAYS);
  const day = shifted - era * ERA_DAYS;
  const yearOfEra = Math.floor(
    (day - Math.floor(day / 1460) + Math.floor(day / 36_524) - Math.floor(day / 146_096)) / 365,
  );
  const dayOfYear = day - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const march = Math.floor((5 * dayOfYear + 2) / 153);
  const month = march < 10 ? march + 3 : march - 9;
  writeYear(sink, yearOfEra + era * 400 + (month <= 2 ? 1 : 0));
  sink.byte(MINUS);
  writeDigits(sink, month, 2);
  sink.byte(MINUS);
  writeDigits(sink, dayOfYear - Math.floor((153 * march + 2) / 5) + 1, 2);
}

/** At least four digits; longer years always have a sign. */
function writeYear(sink: ByteSink, year: number): void {
  const size = Math.abs(year);
  if (year < 0) sink.byte(MINUS);
  else if (year > 9999) sink.byte(PLUS);
  if (size > 9999) writeNatural(sink, size);
  else writeDigits(sink, size, 4);
}

/** The offset from UTC in seconds, at a time given in seconds since 1970. */
export type ZoneOffset = (seconds: number) => number;

/** Microseconds since 1970 as the two halves of a 64-bit number. */
export function writeTimestamp(sink: ByteSink, low: number, high: number, offsetAt: ZoneOffset | undefined): void {
  let seconds: number;
  let micros: number;
  if (isExactNumber(high)) {
    const all = toNumber(low, high);
    seconds = Math.floor(all / 1e6);
    micros = all - seconds * 1e6;
  } else {
    const all = toBigInt(low, high);
    micros = Number(((all % 1_000_000n) + 1_000_000n) % 1_000_000n);
    seconds = Number((all - BigInt(micros)) / 1_000_000n);
  }
  const local = offsetAt === undefined ? seconds : seconds + offsetAt(seconds);
  const day = Math.floor(local / DAY_SECONDS);
  writeDate(sink, day);
  sink.byte(SPACE);
  writeClock(sink, local - day * DAY_SECONDS);
  if (micros !== 0) writeFraction(sink, micros, 6);
}

/** Nanoseconds since midnight as the two halves of a 64-bit number. */
export function writeTime(sink: ByteSink, low: number, high: number): void {
  const all = toNumber(low, high);
  const seconds = Math.floor(all / 1e9);
  writeClock(sink, seconds);
  const nanos = all - seconds * 1e9;
  if (nanos === 0) return;
  const micros = Math.floor(nanos / 1000);
  if (micros * 1000 === nanos) writeFraction(sink, micros, 6);
  else sink.ascii(`.${String(nanos).padStart(9, "0").replace(/0+$/, "")}`);
}

export function writeClock(sink: ByteSink, seconds: number): void {
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  writeDigits(sink, hours, 2);
  sink.byte(COLON);
  writeDigits(sink, minutes - hours * 60, 2);
  sink.byte(COLON);
  writeDigits(sink, seconds - minutes * 60, 2);
}

/** Writes no trailing zeros. `digits` must not be 0. */
function writeFraction(sink: ByteSink, digits: number, count: number): void {
  let [rest, left] = [digits, count];
  while (rest % 10 === 0) {
    rest /= 10;
    left -= 1;
  }
  sink.byte(POINT);
  writeDigits(sink, rest, left);
}
