import { MINUS, POINT } from "./ascii.ts";
import type { ByteSink } from "./byte-sink.ts";
import { isExactNumber, toBigInt, toNumber, writeDigits, writeNatural } from "./number-text.ts";

/** Up to this scale, a single `writeDigits` call can write the fraction. */
const SHORT_SCALE = 8;

/** Writes the 128-bit value at `words[4 * index]`, lowest word first, with exactly `scale` fraction digits. */
export function writeDecimal(sink: ByteSink, words: Int32Array, index: number, scale: number): void {
  const at = index * 4;
  const [low = 0, high = 0] = [words[at], words[at + 1]];
  const rest = high >> 31;
  const isShort = words[at + 2] === rest && words[at + 3] === rest && isExactNumber(high);
  if (isShort && scale >= 0 && scale <= SHORT_SCALE) writeShort(sink, toNumber(low, high), scale);
  else sink.ascii(decimalText(wideValue(words, at), scale));
}

function writeShort(sink: ByteSink, unscaled: number, scale: number): void {
  if (unscaled < 0) sink.byte(MINUS);
  const size = Math.abs(unscaled);
  const unit = 10 ** scale;
  const whole = Math.floor(size / unit);
  writeNatural(sink, whole);
  if (scale === 0) return;
  sink.byte(POINT);
  writeDigits(sink, size - whole * unit, scale);
}

function wideValue(words: Int32Array, at: number): bigint {
  const [w0 = 0, w1 = 0, w2 = 0, w3 = 0] = words.subarray(at, at + 4);
  return (toBigInt(w2, w3) << 64n) | BigInt.asUintN(64, toBigInt(w0, w1));
}

/** Never uses an exponent. */
export function decimalText(unscaled: bigint, scale: number): string {
  const sign = unscaled < 0n ? "-" : "";
  const digits = String(unscaled < 0n ? -unscaled : unscaled);
  if (scale <= 0) return unscaled === 0n ? "0" : `${sign}${digits}${"0".repeat(-scale)}`;
  const padded = digits.padStart(scale + 1, "0");
  return `${sign}${padded.slice(0, -scale)}.${padded.slice(-scale)}`;
}
