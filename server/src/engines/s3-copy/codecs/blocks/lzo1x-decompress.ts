import { CodecError } from "./codec-error.ts";
import { copyEarlier, copyLiterals } from "./copy-bytes.ts";

/** The meaning of an instruction `0000xxxx` depends on the number of literals that were copied last, at most 4. */
const AFTER_LONG_LITERALS = 4;
const SHORT_LITERALS = 3;

/**
 * Decodes a block of LZO1X into exactly `size` bytes. Every read and write is checked: the input may be anything. All
 * state is in local variables, because fields of an object are slower.
 */
export function decompressLzo1x(input: Uint8Array, size: number): Uint8Array<ArrayBuffer> {
  const output = new Uint8Array(size);
  const first = input[0] ?? 0;
  let from = first > 17 ? 1 : 0;
  let at = 0;
  let state = 0;
  let literals = first > 17 ? first - 17 : 0;
  for (;;) {
    if (literals > 0) {
      if (literals > input.length - from) throw new CodecError("LZO data ends inside literals");
      if (literals > size - at) throw new CodecError(TOO_LONG);
      copyLiterals(input, from, output, at, literals);
      from += literals;
      at += literals;
    }
    state = literals > SHORT_LITERALS ? AFTER_LONG_LITERALS : literals;
    if (from >= input.length) throw new CodecError(TRUNCATED);
    const code = input[from++] as number;
    let length = code < 16 ? code : code < 32 ? code & 7 : code & 31;
    if (length === 0 && (code >= 16 || state === 0) && code < 64) {
      const end = endOfZeros(input, from);
      length = (code < 16 ? 15 : code < 32 ? 7 : 31) + 255 * (end - from) + (input[end] as number);
      from = end + 1;
    }
    if (code < 16 && state === 0) {
      literals = 3 + length;
      continue;
    }
    const operandBytes = code >= 16 && code < 64 ? 2 : 1;
    if (operandBytes > input.length - from) throw new CodecError(TRUNCATED);
    const low = input[from] as number;
    const operand = operandBytes === 1 ? low : low | ((input[from + 1] as number) << 8);
    from += operandBytes;
    let distance: number;
    if (code >= 64) {
      distance = (operand << 3) + ((code >> 2) & 7) + 1;
      length = (code >> 5) + 1;
    } else if (code >= 32) {
      distance = (operand >> 2) + 1;
      length += 2;
    } else if (code >= 16) {
      distance = ((code & 8) << 11) + (operand >> 2) + 16384;
      length += 2;
      if (distance === 16384) break;
    } else {
      const isFar = state === AFTER_LONG_LITERALS;
      distance = (operand << 2) + (code >> 2) + (isFar ? 2049 : 1);
      length = isFar ? 3 : 2;
    }
    if (distance > at) throw new CodecError("LZO data refers to bytes before its start");
    if (length > size - at) throw new CodecError(TOO_LONG);
    copyEarlier(output, at, distance, length);
    at += length;
    literals = (operandBytes === 2 ? operand : code) & 3;
  }
  if (from !== input.length) throw new CodecError("LZO data goes on after its end");
  if (at !== size) throw new CodecError("LZO data is shorter than its block says");
  return output;
}

const TRUNCATED = "LZO data ends inside an instruction";
const TOO_LONG = "LZO data is longer than its block says";

/** A length that does not fit into the instruction: each zero byte counts for 255. */
function endOfZeros(input: Uint8Array, from: number): number {
  let end = from;
  while (input[end] === 0) end++;
  if (end >= input.length) throw new CodecError(TRUNCATED);
  return end;
}
