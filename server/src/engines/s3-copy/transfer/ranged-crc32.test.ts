import { crc32 } from "node:zlib";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { SourceFile } from "../plan/planned-output.ts";
import { RangedCrc32 } from "./ranged-crc32.ts";

function sourceOf(size: number): SourceFile {
  return { uri: "s3://bucket/a", name: "a", size, modifiedMs: 0, etag: null, storageClass: null };
}

/** Contents, cut into ranges that arrive in any order. */
const arrivals = fc
  .tuple(fc.uint8Array({ minLength: 1, maxLength: 300 }), fc.array(fc.nat(299), { maxLength: 8 }))
  .chain(([array, cuts]) => {
    const bytes = Buffer.from(array);
    const inside = cuts.map((cut) => cut % bytes.length).filter((cut) => cut > 0);
    const starts = [...new Set([0, ...inside])].sort((one, other) => one - other);
    const ranges = starts.map((start, at) => ({ start, end: starts[at + 1] ?? bytes.length }));
    const order = fc.shuffledSubarray(ranges, { minLength: ranges.length });
    return fc.record({ bytes: fc.constant(bytes), order, wrong: fc.option(fc.nat(bytes.length - 1)) });
  });

test("ranges in any order are accepted if and only if they have the checksum of the whole", async () => {
  await fc.assert(
    fc.asyncProperty(arrivals, async ({ bytes, order, wrong }) => {
      const checksum = new RangedCrc32(sourceOf(bytes.length), { crc32Of: () => Promise.resolve(crc32(bytes)) });
      const received = Buffer.from(bytes);
      if (wrong !== null) received[wrong] = (received[wrong] ?? 0) ^ 1;
      const added = Promise.all(order.map(({ start, end }) => checksum.add(start, received.subarray(start, end))));
      const refusal = await added.then(
        () => null,
        (error: unknown) => String(error),
      );
      expect(refusal).toBe(
        wrong === null ? null : "ObjectStoreError: s3://bucket/a: the contents do not match the checksum",
      );
    }),
  );
});

test("ranges are not compared if the store has no checksum", async () => {
  for (const from of [{}, { crc32Of: () => Promise.resolve(null) }]) {
    await new RangedCrc32(sourceOf(1), from).add(0, Buffer.from("x"));
  }
});
