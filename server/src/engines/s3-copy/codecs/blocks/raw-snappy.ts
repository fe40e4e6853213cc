import { CodecError } from "./codec-error.ts";
import { copyEarlier, copyLiterals } from "./copy-bytes.ts";
import { MatchFinder } from "./match-finder.ts";

/** Snappy without a container, as `format_description.txt` of google/snappy describes it. */
const MAX_DISTANCE = 0xffff;

const finder = new MatchFinder();
let output = new Uint8Array(0);

/** The memory of the result is used again by the next call. */
export function compressSnappy(input: Uint8Array): Uint8Array<ArrayBuffer> {
  const rest = finder.search(input, MAX_DISTANCE);
  const { copies } = finder;
  const most = maxCompressedBytes(input.length);
  if (output.length < most) output = new Uint8Array(most);
  let at = 0;
  let length = input.length;
  for (; length > 127; length >>>= 7) output[at++] = (length & 127) | 128;
  output[at++] = length;
  let from = 0;
  for (let i = 0; i < copies.length; i += 3) {
    const literals = copies[i] as number;
    at = writeLiterals(input, from, literals, output, at);
    from += literals + (copies[i + 1] as number);
    at = writeCopy(output, at, copies[i + 1] as number, copies[i + 2] as number);
  }
  at = writeLiterals(input, from, rest, output, at);
  return output.subarray(0, at);
}

/** The most bytes that a compressor of this format writes. */
export function maxCompressedBytes(size: number): number {
  return 32 + size + Math.ceil(size / 6);
}

function writeLiterals(input: Uint8Array, from: number, count: number, output: Uint8Array, start: number): number {
  let at = start;
  if (count === 0) return at;
  const code = count - 1;
  if (code < 60) {
    output[at++] = code << 2;
  } else {
    const bytes = code < 0x100 ? 1 : code < 0x10000 ? 2 : 3;
    output[at++] = (59 + bytes) << 2;
    for (let i = 0; i < bytes; i++) output[at++] = (code >> (8 * i)) & 0xff;
  }
  copyLiterals(input, from, output, at, count);
  return at + count;
}

function writeCopy(output: Uint8Array, start: number, length: number, distance: number): number {
  let at = start;
  let rest = length;
  // A copy has at most 64 bytes. The rest must have at least 4, because the short form below cannot hold fewer.
  for (; rest > 67; rest -= 64) at = writeLongCopy(output, at, 64, distance);
  if (rest > 64) {
    at = writeLongCopy(output, at, 60, distance);
    rest -= 60;
  }
  if (rest > 11 || distance > 2047) return writeLongCopy(output, at, rest, distance);
  output[at++] = 1 | ((rest - 4) << 2) | ((distance >> 8) << 5);
  output[at++] = distance & 0xff;
  return at;
}

function writeLongCopy(output: Uint8Array, at: number, length: number, distance: number): number {
  output[at] = 2 | ((length - 1) << 2);
  output[at + 1] = distance & 0xff;
  output[at + 2] = distance >> 8;
  return at + 3;
}

/** The length of the decoded data, and where the encoded data begins. */
export function readSnappyLength(input: Uint8Array): { size: number; start: number } {
  let size = 0;
  for (let i = 0; i < 5; i++) {
    const byte = input[i];
    if (byte === undefined) throw new CodecError("snappy data ends inside its length");
    size += (byte & 127) * 2 ** (7 * i);
    if (byte < 128) return { size, start: i + 1 };
  }
  throw new CodecError("snappy data has a malformed length");
}

/** Every read and write is checked: the input may be anything. The caller has limited the size that it declares. */
export function decompressSnappy(input: Uint8Array): Uint8Array<ArrayBuffer> {
  const { size, start } = readSnappyLength(input);
  const output = new Uint8Array(size);
  let from = start;
  let at = 0;
  while (from < input.length) {
    const tag = input[from] as number;
    const operands = OPERAND_BYTES[tag] as number;
    if (from + operands >= input.length) throw new CodecError("snappy data ends inside an instruction");
    const low =
      operands < 2 ? (input[from + 1] as number) : (input[from + 1] as number) | ((input[from + 2] as number) << 8);
    const operand = operands < 3 ? low : low + highBytes(input, from + 3, operands - 2);
    from += 1 + operands;
    let length = (tag >> 2) + 1;
    if ((tag & 3) === 0) {
      if (operands > 0) length = operand + 1;
      if (length > size - at) throw new CodecError(TOO_LONG);
      if (length > input.length - from) throw new CodecError("snappy data ends inside literals");
      copyLiterals(input, from, output, at, length);
      from += length;
    } else {
      let distance = operand;
      if ((tag & 3) === 1) {
        length = ((tag >> 2) & 7) + 4;
        distance += (tag >> 5) << 8;
      }
      if (length > size - at) throw new CodecError(TOO_LONG);
      if (distance === 0 || distance > at) throw new CodecError("snappy data refers to bytes before its start");
      copyEarlier(output, at, distance, length);
    }
    at += length;
  }
  if (at !== size) throw new CodecError("snappy data is shorter than its block says");
  return output;
}

const TOO_LONG = "snappy data is longer than its block says";

/** By tag: the number of bytes for the length of literals above 60, or for the distance of a copy. */
const OPERAND_BYTES = Uint8Array.from({ length: 256 }, (_, tag) => {
  const kind = tag & 3;
  if (kind === 0) return Math.max(0, (tag >> 2) - 59);
  return kind === 3 ? 4 : kind;
});

function highBytes(input: Uint8Array, at: number, count: number): number {
  const third = (input[at] as number) * 0x10000;
  return count < 2 ? third : third + (input[at + 1] as number) * 0x1000000;
}
