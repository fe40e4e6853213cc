/** The polynomial of CRC-32 with its bits reversed, as in zlib. */
const POLYNOMIAL = 0xedb88320;
/** x⁰: the highest bit stands for the lowest power. */
const ONE = 0x80000000;
/** x⁸: one byte. */
const BYTE = 0x00800000;

/**
 * The CRC-32 of two texts after each other, from the CRC-32 of each and the length of the second. A CRC is the remainder of
 * a polynomial, so bytes that follow the first text only multiply its remainder by a power of x.
 */
export function combineCrc32(first: number, second: number, secondBytes: number): number {
  return (multiply(first, powerOfByte(secondBytes)) ^ second) >>> 0;
}

/** x to the power of 8 × `bytes`, by repeated squaring. */
function powerOfByte(bytes: number): number {
  let result = ONE;
  let square = BYTE;
  for (let left = bytes; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) result = multiply(result, square);
    square = multiply(square, square);
  }
  return result;
}

/** The product of two polynomials, modulo the one of CRC-32. */
function multiply(one: number, other: number): number {
  let product = 0;
  let shifted = other;
  for (let bit = ONE; bit !== 0; bit >>>= 1) {
    if ((one & bit) !== 0) product ^= shifted;
    shifted = (shifted & 1) === 0 ? shifted >>> 1 : (shifted >>> 1) ^ POLYNOMIAL;
  }
  return product >>> 0;
}
