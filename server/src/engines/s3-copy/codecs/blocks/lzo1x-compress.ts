/**
 * LZO1X, as described in the kernel's `Documentation/staging/lzo.rst`. An instruction copies earlier bytes and then up to
 * three literals, whose number is in the two low bits of its second last byte. More literals need an instruction of their
 * own.
 */
import { copyLiterals } from "./copy-bytes.ts";
import { MatchFinder } from "./match-finder.ts";

const MAX_DISTANCE = 0xbfff;
const SHORT_DISTANCE = 2048;
const MIDDLE_DISTANCE = 16384;

const finder = new MatchFinder();
let output = new Uint8Array(0);

/** The compressed block, or null if it would not be smaller. Its memory is used again by the next call. */
export function compressLzo1x(input: Uint8Array): Uint8Array<ArrayBuffer> | null {
  const rest = finder.search(input, MAX_DISTANCE);
  const { copies } = finder;
  // The longest possible output: long literals cost one byte in 255, and nothing else is longer than its input.
  const most = input.length + (input.length >> 4) + 64;
  if (output.length < most) output = new Uint8Array(most);
  let from = 0;
  let at = 0;
  for (let i = 0; i < copies.length; i += 3) {
    const literals = copies[i] as number;
    at = writeLiterals(input, from, literals, output, at);
    from += literals + (copies[i + 1] as number);
    at = writeCopy(output, at, copies[i + 1] as number, copies[i + 2] as number);
    if (at >= input.length) return null;
  }
  at = writeLiterals(input, from, rest, output, at);
  output[at++] = 17; // the end: a copy from a distance that means none
  output[at++] = 0;
  output[at++] = 0;
  return at < input.length ? output.subarray(0, at) : null;
}

function writeLiterals(input: Uint8Array, from: number, count: number, output: Uint8Array, start: number): number {
  let at = start;
  if (count === 0) return at;
  if (at === 0 && count <= 238) {
    output[at++] = 17 + count;
  } else if (at > 0 && count <= 3) {
    output[at - 2] = (output[at - 2] as number) | count;
  } else if (count <= 18) {
    output[at++] = count - 3;
  } else {
    output[at++] = 0;
    at = writeLength(output, at, count - 18);
  }
  copyLiterals(input, from, output, at, count);
  return at + count;
}

function writeCopy(output: Uint8Array, start: number, length: number, distance: number): number {
  let at = start;
  if (distance <= SHORT_DISTANCE && length <= 8) {
    const back = distance - 1;
    output[at++] = ((length - 1) << 5) | ((back & 7) << 2);
    output[at++] = back >> 3;
    return at;
  }
  let back = distance - 1;
  let opcode = 32;
  let shortLength = 33;
  if (distance > MIDDLE_DISTANCE) {
    back = distance - MIDDLE_DISTANCE;
    opcode = 16 | ((back >> 11) & 8);
    shortLength = 9;
  }
  if (length <= shortLength) {
    output[at++] = opcode | (length - 2);
  } else {
    output[at++] = opcode;
    at = writeLength(output, at, length - shortLength);
  }
  output[at++] = (back << 2) & 0xff;
  output[at++] = (back >> 6) & 0xff;
  return at;
}

/** Each zero byte counts for 255; the last byte is not zero. */
function writeLength(output: Uint8Array, start: number, length: number): number {
  let at = start;
  let rest = length;
  for (; rest > 255; rest -= 255) output[at++] = 0;
  output[at++] = rest;
  return at;
}
