import { setImmediate as nextTurn } from "node:timers/promises";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bytesPerMiB } from "../../../lib/size-text.ts";
import { ByteBudget } from "./byte-budget.ts";
import { cutParts } from "./output-contents.ts";
import { PartSizes } from "./part-sizes.ts";

const GIB = 1024 ** 3;
const never = new AbortController().signal;

/** Counts what is taken. */
class CountedBudget extends ByteBudget {
  taken = 0;
  most = 0;

  override take(bytes: number): Promise<void> | undefined {
    this.taken += bytes;
    this.most = Math.max(this.most, this.taken);
    return super.take(bytes);
  }

  override give(bytes: number): void {
    this.taken -= bytes;
    super.give(bytes);
  }
}

function partSizes(partMiB: number, bufferMiB: number, maxParts = 10_000): { sizes: PartSizes; budget: CountedBudget } {
  const budget = new CountedBudget(bufferMiB * bytesPerMiB, never);
  const [partBytes, bufferBytes] = [partMiB * bytesPerMiB, bufferMiB * bytesPerMiB];
  return { sizes: new PartSizes({ partBytes, bufferBytes, budget, maxParts }), budget };
}

describe("parts of an output of unknown size", () => {
  test("grow, so that ten thousand of them hold 500 GiB in 128 MiB of memory", async () => {
    const { sizes, budget } = partSizes(16, 128);
    let sum = 0;
    for (let number = 1; number <= 10_000; number += 1) sum += await sizes.sizeOf(number);
    expect(sum).toBeGreaterThan(500 * GIB);
    expect(budget.most).toBeLessThanOrEqual(128 * bytesPerMiB);
    sizes.release();
    expect(budget.taken).toBe(0);
  });

  test("never become smaller, and never smaller than S3 allows", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 5, max: 600 }),
        fc.integer({ min: 8, max: 512 }),
        async (partMiB, bufferMiB) => {
          const { sizes } = partSizes(partMiB, bufferMiB);
          let previous = 5 * bytesPerMiB;
          for (const number of [1, 2, 500, 501, 999, 1001, 5000, 10_000]) {
            const size = await sizes.sizeOf(number);
            expect(size).toBeGreaterThanOrEqual(previous);
            previous = size;
          }
        },
      ),
    );
  });

  test("are refused, with advice, if there would be too many", async () => {
    const { sizes } = partSizes(16, 128, 3);
    await expect(sizes.sizeOf(4)).rejects.toThrow(
      "an output is larger than 3 parts of up to 56 MiB, the most that one object can have here: use --groupBy",
    );
  });

  test("wait for memory without keeping any, so that two that grow do not block each other", async () => {
    const budget = new ByteBudget(128 * bytesPerMiB, never);
    const options = { partBytes: 16 * bytesPerMiB, bufferBytes: 128 * bytesPerMiB, budget, maxParts: 10_000 };
    const [one, other] = [new PartSizes(options), new PartSizes(options)];
    await Promise.all([one.sizeOf(1), other.sizeOf(1)]);
    const growing = [one, other].map(async (sizes) => {
      const size = await sizes.sizeOf(501);
      sizes.release();
      return size / bytesPerMiB;
    });
    // Without timers and files, nothing is left to wait for after one turn of the event loop.
    expect(await Promise.race([Promise.all(growing), nextTurn("blocked")])).toEqual([32, 32]);
  });
});

test("a stream is cut into parts of the given sizes, whatever the pieces that it comes in", async () => {
  const pieces = fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 20 });
  const partBytes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(pieces, partBytes, async (given, sizes) => {
      const sizeOf = (number: number): number => sizes[Math.min(number, sizes.length) - 1] ?? 1;
      async function* contents(): AsyncGenerator<Buffer> {
        for (const piece of given) yield Buffer.from(piece);
      }
      const parts: Buffer[][] = [];
      const joined: Buffer[] = [];
      for await (const part of cutParts(contents(), (number) => Promise.resolve(sizeOf(number)))) {
        // Like the transfer, which writes a part while the next is made.
        for (const before of parts.slice(-1)) joined.push(Buffer.concat(before));
        parts.push(part);
      }
      for (const last of parts.slice(-1)) joined.push(Buffer.concat(last));
      expect(Buffer.concat(joined)).toEqual(Buffer.concat(given));
      for (const [at, part] of joined.slice(0, -1).entries()) expect(part).toHaveLength(sizeOf(at + 1));
      for (const part of parts.slice(1)) expect(part).toHaveLength(1);
      expect(joined.every((part) => part.length > 0)).toBe(true);
    }),
  );
});
