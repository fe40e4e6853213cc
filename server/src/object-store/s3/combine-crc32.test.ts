import { crc32 } from "node:zlib";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { combineCrc32 } from "./combine-crc32.ts";

test("combined checksums are the checksum of the texts after each other", () => {
  const bytes = fc.uint8Array({ maxLength: 5000 }).map((array) => Buffer.from(array));
  fc.assert(
    fc.property(bytes, bytes, (first, second) => {
      const whole = crc32(Buffer.concat([first, second]));
      expect(combineCrc32(crc32(first), crc32(second), second.length)).toBe(whole);
    }),
  );
});

test("lengths above 4 GiB are combined correctly", () => {
  const zeros = Buffer.alloc(1024 * 1024);
  const ofZeros = (mebibytes: number): number => {
    let [sum, power, bytes] = [0, crc32(zeros), zeros.length];
    for (let left = mebibytes; left > 0; left = Math.floor(left / 2)) {
      if (left % 2 === 1) sum = combineCrc32(sum, power, bytes);
      power = combineCrc32(power, power, bytes);
      bytes *= 2;
    }
    return sum;
  };
  const five = 5 * 1024;
  expect(combineCrc32(ofZeros(1), ofZeros(five), five * zeros.length)).toBe(ofZeros(five + 1));
});
