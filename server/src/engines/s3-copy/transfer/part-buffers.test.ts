import * as fc from "fast-check";
import { expect, test } from "vitest";
import { PartBuffers } from "./part-buffers.ts";

const MIB = 1024 * 1024;
const LIMIT = 16 * MIB;
const LARGEST = 4 * MIB;

/** Positive: takes a buffer of this size. Negative: gives back one of those in use. */
const step = fc.oneof(
  fc.maxSafeNat().map((n) => 1 + (n % (5 * MIB))),
  fc.integer({ min: -100, max: -1 }),
);

test("whatever sizes are requested, the memory in use and the free memory together stay within the budget", () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 30, maxLength: 60 }), (steps) => {
      const buffers = new PartBuffers(LARGEST, LIMIT);
      const used: Buffer[] = [];
      const usedBytes = (): number => used.reduce((sum, { length }) => sum + buffers.roundUp(length), 0);
      for (const each of steps) {
        if (each < 0) {
          const [given] = used.splice(-each % Math.max(1, used.length), 1);
          if (given !== undefined) buffers.give(given);
        } else if (usedBytes() + buffers.roundUp(each) <= LIMIT) {
          used.push(buffers.take(each));
        }
        expect(buffers.heldBytes).toBeLessThanOrEqual(LIMIT);
        expect(new Set(used.map(({ buffer }) => buffer)).size).toBe(used.length);
      }
    }),
  );
});

test("memory is used again, even for a size that is a little smaller", () => {
  const buffers = new PartBuffers(16 * MIB, 4 * LIMIT);
  const { buffer } = buffers.take(16 * MIB);
  buffers.give(Buffer.from(buffer));
  const again = buffers.take(9 * MIB);
  expect(again.buffer).toBe(buffer);
  expect(again).toHaveLength(9 * MIB);
  expect(buffers.take(7 * MIB).buffer).not.toBe(buffer);
});

test("a buffer takes less than twice the memory of its size", () => {
  const buffers = new PartBuffers(16 * MIB, 4 * LIMIT);
  fc.assert(
    fc.property(fc.integer({ min: 256 * 1024, max: 16 * MIB }), (bytes) => {
      expect(buffers.roundUp(bytes)).toBeGreaterThanOrEqual(bytes);
      expect(buffers.roundUp(bytes)).toBeLessThan(2 * bytes);
    }),
  );
});
