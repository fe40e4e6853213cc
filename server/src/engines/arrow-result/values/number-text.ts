/** Numbers as Java prints them, because Spark's command line shows them so. */
import { MINUS, POINT, ZERO } from "./ascii.ts";
import type { ByteSink } from "./byte-sink.ts";

const TWO_32 = 4_294_967_296;
const PIECE = 100_000_000;

const tens = Uint8Array.from({ length: 100 }, (_, i) => ZERO + Math.floor(i / 10));
const ones = Uint8Array.from({ length: 100 }, (_, i) => ZERO + (i % 10));

/** An integer between -2^53 and 2^53. */
export function writeInteger(sink: ByteSink, value: number): void {
  if (value < 0) sink.byte(MINUS);
  writeNatural(sink, Math.abs(value));
}

export function writeNatural(sink: ByteSink, value: number): void {
  if (value < PIECE) {
    writeDigits(sink, value, countDigits(value));
    return;
  }
  const high = Math.floor(value / PIECE);
  writeNatural(sink, high);
  writeDigits(sink, value - high * PIECE, 8);
}

/** Writes a number below 10^8 with `count` digits, padded with zeros. */
export function writeDigits(sink: ByteSink, value: number, count: number): void {
  sink.reserve(count);
  const { bytes } = sink;
  let at = sink.at + count;
  sink.at = at;
  let rest = value | 0;
  let left = count;
  for (; left >= 2; left -= 2) {
    const next = (rest / 100) | 0;
    const pair = rest - next * 100;
    bytes[--at] = ones[pair] ?? 0;
    bytes[--at] = tens[pair] ?? 0;
    rest = next;
  }
  if (left === 1) bytes[--at] = ZERO + rest;
}

/** A 64-bit number as two halves. `low` may be negative, as from an Int32Array. */
export function writeInt64(sink: ByteSink, low: number, high: number): void {
  if (isExactNumber(high)) writeInteger(sink, toNumber(low, high));
  else sink.ascii(String(toBigInt(low, high)));
}

/** Whether `toNumber` is exact for 64-bit numbers with this upper half: they are between -2^53 and 2^53. */
export function isExactNumber(high: number): boolean {
  return high >= -0x20_0000 && high < 0x20_0000;
}

export function toNumber(low: number, high: number): number {
  return high * TWO_32 + (low >>> 0);
}

export function toBigInt(low: number, high: number): bigint {
  return (BigInt(high) << 32n) | BigInt(low >>> 0);
}

function countDigits(value: number): number {
  if (value < 10_000) return value < 100 ? (value < 10 ? 1 : 2) : value < 1000 ? 3 : 4;
  if (value < 1_000_000) return value < 100_000 ? 5 : 6;
  return value < 10_000_000 ? 7 : 8;
}

const DOUBLE_BITS = 53;
const FLOAT_BITS = 24;

export function writeDouble(sink: ByteSink, value: number): void {
  if (writeSpecial(sink, value)) return;
  const size = Math.abs(value);
  if (size >= 1e-3 && size < 1e7) {
    // No two decimals of up to 15 digits are the same double, so this is the shortest form.
    const scaled = Math.round(size * FOUR_DIGITS);
    if (scaled / FOUR_DIGITS === size) writeScaled(sink, scaled);
    else writePlain(sink, size.toExponential());
    return;
  }
  const long = wholeDigits(size, DOUBLE_BITS);
  if (long !== undefined) writeScientific(sink, long);
  else writeScientific(sink, size < 1e-320 ? twoDigitsOrMore(size, Number) : size.toExponential());
}

export function writeFloat(sink: ByteSink, value: number): void {
  if (writeSpecial(sink, value)) return;
  const size = Math.abs(value);
  if (size < 1e-3 || size >= 1e7) {
    writeScientific(sink, wholeDigits(size, FLOAT_BITS) ?? floatDigits(size));
    return;
  }
  const scaled = Math.round(size * FOUR_DIGITS);
  // No two decimals of up to 6 digits are the same float, and integers below 2^24 are exact.
  const isSimple = Number.isInteger(size) || (scaled < 1e6 && Math.fround(scaled / FOUR_DIGITS) === size);
  if (isSimple) writeScaled(sink, scaled);
  else writePlain(sink, floatDigits(size));
}

const FOUR_DIGITS = 10_000;

/** Writes the sign. Returns true if it wrote the whole number: zero, infinity or NaN. */
function writeSpecial(sink: ByteSink, value: number): boolean {
  if (!Number.isFinite(value)) {
    sink.ascii(String(value));
    return true;
  }
  if (value < 0 || Object.is(value, -0)) sink.byte(MINUS);
  if (value !== 0) return false;
  sink.ascii("0.0");
  return true;
}

function writeScaled(sink: ByteSink, scaled: number): void {
  const whole = Math.floor(scaled / FOUR_DIGITS);
  writeNatural(sink, whole);
  writeFraction(sink, scaled - whole * FOUR_DIGITS, 4);
}

/** A point and at least one digit, without further trailing zeros. */
function writeFraction(sink: ByteSink, digits: number, count: number): void {
  sink.byte(POINT);
  let [rest, left] = [digits, count];
  while (left > 1 && rest % 10 === 0) {
    rest /= 10;
    left -= 1;
  }
  writeDigits(sink, rest, left);
}

/** From `1.5e+21` to `1.5E21`. */
function writeScientific(sink: ByteSink, exponential: string): void {
  const [mantissa = "", exponent = ""] = exponential.split("e");
  sink.ascii(mantissa.includes(".") ? mantissa : `${mantissa}.0`);
  sink.ascii(`E${Number(exponent)}`);
}

/** From `1.5e+2` to `150.0`; the exponent has one digit. */
function writePlain(sink: ByteSink, exponential: string): void {
  const end = exponential.length - 3;
  const exponent = exponential.charCodeAt(end + 2) - ZERO;
  sink.reserve(exponential.length + 16);
  const { bytes } = sink;
  let { at } = sink;
  let next = 2; // after the first digit and the point
  if (exponential.charCodeAt(end + 1) === MINUS) {
    bytes[at++] = ZERO;
    bytes[at++] = POINT;
    for (let zeros = exponent; zeros > 1; zeros--) bytes[at++] = ZERO;
    bytes[at++] = exponential.charCodeAt(0);
  } else {
    bytes[at++] = exponential.charCodeAt(0);
    for (let left = exponent; left > 0; left--, next++) bytes[at++] = next < end ? exponential.charCodeAt(next) : ZERO;
    bytes[at++] = POINT;
    if (next >= end) bytes[at++] = ZERO;
  }
  for (; next < end; next++) bytes[at++] = exponential.charCodeAt(next);
  sink.at = at;
}

/**
 * The digits of an integer that has more bits than the mantissa, or undefined for other numbers. Java 17 rounds away only
 * digits below the precision of the mantissa, which often leaves one digit more than the shortest form.
 */
function wholeDigits(size: number, bits: number): string | undefined {
  if (size < 2 ** bits || size >= 2 ** 63 || !Number.isInteger(size)) return undefined;
  let digits = BigInt(size);
  const spare = digits.toString(2).length - 1 - bits - 1;
  const drop = spare > 1 ? Math.floor(spare * Math.log10(2)) : 0;
  const unit = 10n ** BigInt(drop);
  digits = (digits + unit / 2n) / unit;
  const text = String(digits);
  const shown = text.replace(/0+$/, "");
  return `${shown.slice(0, 1)}${shown.length > 1 ? "." : ""}${shown.slice(1)}e${text.length - 1 + drop}`;
}

/** The shortest digits that identify a float. Trying starts at six, because no two such decimals are the same float. */
function floatDigits(size: number): string {
  if (size < SMALLEST_NORMAL_FLOAT) return twoDigitsOrMore(size, Math.fround);
  for (let count = 6; count < 9; count++) {
    const digits = roundedToEven(size, count);
    if (Math.fround(Number(digits)) === size) return withoutZeros(digits);
  }
  return size.toExponential(8);
}

const SMALLEST_NORMAL_FLOAT = 2 ** -126;

/** Java prints at least two digits, which can differ from the shortest form: 4.9E-324 instead of 5E-324. */
function twoDigitsOrMore(size: number, read: (text: number) => number): string {
  for (let count = 2; count < 17; count++) {
    const digits = size.toExponential(count - 1);
    if (read(Number(digits)) === size) return withoutZeros(digits);
  }
  return size.toExponential();
}

/** Like `toExponential`, which rounds ties up instead of to even. */
function roundedToEven(size: number, count: number): string {
  const digits = size.toExponential(count - 1);
  const further = size.toExponential(count);
  const [mantissa = "", exponent = ""] = further.split("e");
  if (!mantissa.endsWith("5") || Number(further) !== size || !isOdd(digits)) return digits;
  return `${mantissa.slice(0, -1)}e${exponent}`;
}

function isOdd(exponential: string): boolean {
  return Number(exponential.charAt(exponential.indexOf("e") - 1)) % 2 === 1;
}

function withoutZeros(exponential: string): string {
  return exponential.replace(/\.?0+e/, "e");
}
