import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ByteSink } from "./byte-sink.ts";
import { writeDecimal } from "./decimal-text.ts";
import { writeDouble, writeFloat, writeInt64, writeInteger } from "./number-text.ts";

const written = (write: (sink: ByteSink) => void): string => {
  const sink = new ByteSink(1); // has to grow
  write(sink);
  return sink.toText(0);
};
const doubleText = (value: number): string => written((sink) => writeDouble(sink, value));
const floatText = (value: number): string => written((sink) => writeFloat(sink, value));

/** Another implementation of Java's rule, from the digits and the exponent that JavaScript computes. */
function javaForm(value: number, digits: string, exponent: number): string {
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  if (Math.abs(value) >= 1e-3 && Math.abs(value) < 1e7) {
    const shifted = exponent < 0 ? `${"0".repeat(-exponent)}${digits}` : digits.padEnd(exponent + 2, "0");
    const point = Math.max(exponent, 0) + 1;
    return `${sign}${shifted.slice(0, point)}.${shifted.slice(point)}`;
  }
  return `${sign}${digits.slice(0, 1)}.${digits.slice(1) || "0"}E${exponent}`;
}

describe("integers", () => {
  test("of 64 bits are written exactly", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
        const [low = 0, high = 0] = new Int32Array(BigInt64Array.of(value).buffer);
        expect(written((sink) => writeInt64(sink, low, high))).toBe(String(value));
      }),
      {
        numRuns: 2000,
        examples: [[0n], [-1n], [2n ** 53n], [-(2n ** 53n)], [2n ** 53n + 1n], [99_999_999n], [10n ** 16n]],
      },
    );
  });

  test("of 32 bits are written exactly", () => {
    fc.assert(
      fc.property(fc.integer(), (value) => {
        expect(written((sink) => writeInteger(sink, value))).toBe(String(value));
      }),
      { numRuns: 2000, examples: [[0], [-(2 ** 31)], [2 ** 31 - 1], [10_000], [100_000_000]] },
    );
  });
});

describe("doubles", () => {
  test("read back as the same number", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true }), (value) => {
        expect(Number(doubleText(value))).toBe(value);
      }),
      { numRuns: 5000 },
    );
  });

  test("have the shortest digits, in Java's form", () => {
    const below2To53 = fc
      .double({ min: -(2 ** 53), max: 2 ** 53, noNaN: true })
      .filter((v) => v !== 0 && Math.abs(v) > 1e-300);
    fc.assert(
      fc.property(below2To53, (value) => {
        const [mantissa = "", exponent = ""] = Math.abs(value).toExponential().split("e");
        expect(doubleText(value)).toBe(javaForm(value, mantissa.replace(".", ""), Number(exponent)));
      }),
      { numRuns: 5000 },
    );
  });

  test("with few digits have the shortest digits, in Java's form", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -1_000_000_000, max: 1_000_000_000 }),
        fc.integer({ min: 0, max: 6 }),
        (n, digits) => {
          const value = n / 10 ** digits;
          if (value === 0) return;
          const [mantissa = "", exponent = ""] = Math.abs(value).toExponential().split("e");
          expect(doubleText(value)).toBe(javaForm(value, mantissa.replace(".", ""), Number(exponent)));
        },
      ),
      { numRuns: 5000 },
    );
  });

  // Printed by Java 17.
  test.each([
    [0, "0.0"],
    [-0, "-0.0"],
    [NaN, "NaN"],
    [-Infinity, "-Infinity"],
    [0.001, "0.001"],
    [0.00099, "9.9E-4"],
    [9_999_999.5, "9999999.5"],
    [1e7, "1.0E7"],
    [Number.MIN_VALUE, "4.9E-324"],
    [Number.MAX_VALUE, "1.7976931348623157E308"],
    [171588186307518816, "1.71588186307518816E17"],
    [2 ** 62, "4.6116860184273879E18"],
    [2 ** 63, "9.223372036854776E18"],
  ])("%d is written as %s", (value, text) => {
    expect(doubleText(value)).toBe(text);
  });
});

describe("floats", () => {
  test("read back as the same number", () => {
    fc.assert(
      fc.property(fc.float({ noNaN: true }), (value) => {
        expect(Math.fround(Number(floatText(value)))).toBe(value);
      }),
      { numRuns: 5000 },
    );
  });

  test("have no more digits than needed", () => {
    fc.assert(
      fc.property(fc.float({ min: Math.fround(1e-30), max: 2 ** 24, noNaN: true }), (value) => {
        const digits = floatText(value)
          .replace(/E.*$/, "")
          .replace(".", "")
          .replace(/^0+|0+$/g, "");
        if (digits.length <= 2) return; // Java never writes fewer
        expect(Math.fround(Number(value.toPrecision(digits.length - 1)))).not.toBe(value);
      }),
      { numRuns: 5000 },
    );
  });

  // Printed by Java 17.
  test.each([
    [0.1, "0.1"],
    [16777216, "1.6777216E7"],
    [123456789, "1.23456792E8"],
    [0.400390625, "0.40039062"],
    [1234567.875, "1234567.9"],
    [1.401298464324817e-45, "1.4E-45"],
    [3.4028234663852886e38, "3.4028235E38"],
  ])("%d is written as %s", (value, text) => {
    expect(floatText(Math.fround(value))).toBe(text);
  });
});

describe("decimals", () => {
  const widest = 10n ** 38n;

  test("have all digits of their scale and no exponent", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.bigInt({ min: -widest + 1n, max: widest - 1n }), fc.bigInt({ min: -(2n ** 54n), max: 2n ** 54n })),
        fc.integer({ min: 0, max: 38 }),
        (unscaled, scale) => {
          const bits = BigInt.asUintN(128, unscaled);
          const words = new Int32Array(BigUint64Array.of(BigInt.asUintN(64, bits), bits >> 64n).buffer);
          const text = written((sink) => writeDecimal(sink, words, 0, scale));
          expect(text).toMatch(scale === 0 ? /^-?\d+$/ : new RegExp(String.raw`^-?\d+\.\d{${scale}}$`));
          expect(text).not.toMatch(/^-?0\d/);
          expect(BigInt(text.replace(".", ""))).toBe(unscaled);
        },
      ),
      { numRuns: 3000 },
    );
  });

  test.each([
    [12n, -3, "12000"],
    [0n, -3, "0"],
    [-5n, 1, "-0.5"],
  ])("%d with scale %d is written as %s", (unscaled, scale, text) => {
    const bits = BigInt.asUintN(128, unscaled);
    const words = new Int32Array(BigUint64Array.of(BigInt.asUintN(64, bits), bits >> 64n).buffer);
    expect(written((sink) => writeDecimal(sink, words, 0, scale))).toBe(text);
  });
});
