import { setImmediate as nextTurn } from "node:timers/promises";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isExhaustive } from "../../../../test/support/exhaustive.ts";
import { limitConcurrency } from "../../../lib/limit-concurrency.ts";
import type { PlannedOutput, SourceFile } from "../plan/planned-output.ts";
import type { OutputPart, OutputWriter, Range, Storage } from "../storage/storage.ts";
import { assembleOutput } from "./assemble-output.ts";
import { ByteBudget } from "./byte-budget.ts";
import { PartBuffers } from "./part-buffers.ts";

const MIB = 1024 * 1024;

/** A part and the ranges of sources that were read into it or copied. */
interface WrittenPart {
  readonly number: number;
  readonly offset: number;
  readonly length: number;
  readonly ranges: readonly SourceRange[];
}

type SourceRange = Range & { readonly source: string };

function outputOf(sizes: readonly number[]): PlannedOutput {
  const sources = sizes.map((size, at): SourceFile => {
    return { uri: `s3://bucket/${at}`, name: String(at), size, modifiedMs: 0, etag: null, storageClass: null };
  });
  return {
    name: "out",
    bytes: sizes.reduce((sum, size) => sum + size, 0),
    sourceCount: sizes.length,
    single: null,
    recoding: null,
    async *sources() {
      yield* sources;
      await Promise.resolve();
    },
  };
}

async function assemble(
  sizes: readonly number[],
  partMiB: number,
  canCopy: boolean,
  budget = new ByteBudget(64 * MIB, new AbortController().signal),
): Promise<WrittenPart[]> {
  const parts: WrittenPart[] = [];
  let reads: { readonly into: Buffer; readonly range: SourceRange }[] = [];
  const from: Pick<Storage, "read"> = {
    read({ uri }, range, into = Buffer.alloc(0)) {
      reads.push({ into, range: { source: uri, ...range } });
      return Promise.resolve({ bytes: into, attributes: {} });
    },
  };
  const writer: OutputWriter = {
    write({ number, offset, bytes }: OutputPart) {
      const [part = Buffer.alloc(0)] = bytes;
      const own = reads.filter(({ into }) => into.buffer === part.buffer);
      reads = reads.filter(({ into }) => into.buffer !== part.buffer);
      own.sort((one, other) => one.into.byteOffset - other.into.byteOffset);
      parts.push({ number, offset, length: part.length, ranges: own.map(({ range }) => range) });
      expect(own.reduce((sum, { into }) => sum + into.length, 0)).toBe(part.length);
      return Promise.resolve();
    },
    finish: () => Promise.resolve(),
    discard: () => Promise.resolve(),
  };
  if (canCopy) {
    writer.copyPart = ({ number, offset }, { uri }, range) => {
      parts.push({ number, offset, length: range.length, ranges: [{ source: uri, ...range }] });
      return Promise.resolve();
    };
  }
  await assembleOutput(outputOf(sizes), from, writer, {
    partBytes: partMiB * MIB,
    copyPartBytes: 64 * MIB,
    inSlot: limitConcurrency(4),
    budget,
    buffers: new PartBuffers(partMiB * MIB, 64 * MIB),
    onWritten: () => undefined,
  });
  return parts.sort((one, other) => one.number - other.number);
}

class RecordedBudget extends ByteBudget {
  readonly taken: number[] = [];
  readonly given: number[] = [];

  constructor() {
    super(64 * MIB, new AbortController().signal);
  }

  override take(bytes: number): Promise<void> | undefined {
    this.taken.push(bytes);
    return super.take(bytes);
  }

  override give(bytes: number): void {
    this.given.push(bytes);
    super.give(bytes);
  }
}

const size = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 64 }), fc.integer({ min: 1, max: 200 * MIB }));

describe("an assembled output", () => {
  const cases = fc.tuple(
    fc.array(size, { minLength: 1, maxLength: 12 }),
    fc.integer({ min: 5, max: 32 }),
    fc.boolean(),
  );

  test("has every byte of every source once and in order, in parts that S3 accepts", async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ([sizes, partMiB, canCopy]) => {
        const parts = await assemble(sizes, partMiB, canCopy);
        let offset = 0;
        const seen = sizes.map(() => 0);
        let source = 0;
        for (const part of parts) {
          expect(part.offset).toBe(offset);
          offset += part.length;
          for (const range of part.ranges) {
            const at = Number(range.source.slice(range.source.lastIndexOf("/") + 1));
            expect(at).toBeGreaterThanOrEqual(source);
            source = at;
            expect(range.offset).toBe(seen[at]);
            seen[at] = range.offset + range.length;
          }
        }
        expect(seen).toEqual(sizes);
        // Numbered without gaps, and at least 5 MiB each except the last.
        expect(parts.map(({ number }) => number)).toEqual(parts.map((_, at) => at + 1));
        for (const { length } of parts.slice(0, -1)) expect(length).toBeGreaterThanOrEqual(5 * MIB);
      }),
      { numRuns: isExhaustive ? 400 : 150 },
    );
  });

  test("reads no bytes of large sources if the store can copy them", async () => {
    const parts = await assemble([100 * MIB, 7 * MIB], 16, true);
    expect(parts.map(({ length }) => length)).toEqual([64 * MIB, 36 * MIB, 7 * MIB]);
  });

  test("takes memory for its parts and gives it back", async () => {
    const budget = new RecordedBudget();
    await assemble([20 * MIB, MIB, MIB], 10, false, budget);
    expect(budget.taken).toEqual([10 * MIB, 10 * MIB, 2.5 * MIB]); // a quarter of a part holds the rest
    expect(budget.given).toHaveLength(3);
    expect(budget.given).toEqual(expect.arrayContaining(budget.taken));
  });

  test("fails with the first failure, after everything that was running has ended", async () => {
    let running = 0;
    const from = {
      async read() {
        running += 1;
        await Promise.resolve();
        running -= 1;
        throw new Error("no such source");
      },
    };
    const writer = {
      write: () => Promise.resolve(),
      finish: () => Promise.resolve(),
      discard: () => Promise.resolve(),
    };
    const failing = assembleOutput(outputOf([40 * MIB]), from, writer, {
      partBytes: 5 * MIB,
      copyPartBytes: 64 * MIB,
      inSlot: limitConcurrency(2),
      budget: new ByteBudget(64 * MIB, new AbortController().signal),
      buffers: new PartBuffers(5 * MIB, 64 * MIB),
      onWritten: () => undefined,
    });
    await expect(failing).rejects.toThrow("no such source");
    expect(running).toBe(0);
  });

  test("keeps the memory of a part while reads still write into it, if another read has failed", async () => {
    const budget = new RecordedBudget();
    const [failed, others] = [Promise.withResolvers<never>(), Promise.withResolvers<void>()];
    const count = 64; // the assembly waits for its reads after so many
    let begun = 0;
    const read: Storage["read"] = async (_, __, into = Buffer.alloc(0)) => {
      begun += 1;
      if (begun === count) failed.reject(new Error("no such source"));
      await (begun === 1 ? failed.promise : others.promise);
      return { bytes: into, attributes: {} };
    };
    const writer = {
      write: () => Promise.resolve(),
      finish: () => Promise.resolve(),
      discard: () => Promise.resolve(),
    };
    const failing = assembleOutput(outputOf(Array.from({ length: count }, () => 1024)), { read }, writer, {
      partBytes: 5 * MIB,
      copyPartBytes: 64 * MIB,
      inSlot: limitConcurrency(count),
      budget,
      buffers: new PartBuffers(5 * MIB, 64 * MIB),
      onWritten: () => undefined,
    });
    await expect(failed.promise).rejects.toThrow("no such source");
    await nextTurn();
    expect(begun).toBe(count);
    expect(budget.given).toEqual([]);
    others.resolve();
    await expect(failing).rejects.toThrow("no such source");
    expect(budget.given).toEqual(budget.taken);
  });
});

describe("the byte budget", () => {
  test("grants requests in order, and one above the limit only when nothing else is taken", async () => {
    const budget = new ByteBudget(10, new AbortController().signal);
    expect(budget.take(6)).toBeUndefined();
    const granted: string[] = [];
    const large = budget.take(20)?.then(() => granted.push("large"));
    const small = budget.take(1)?.then(() => granted.push("small"));
    budget.give(6);
    await large;
    expect(granted).toEqual(["large"]);
    budget.give(20);
    await small;
    expect(granted).toEqual(["large", "small"]);
  });

  test("rejects waiting requests when the copy ends", async () => {
    const ending = new AbortController();
    const budget = new ByteBudget(10, ending.signal);
    void budget.take(10);
    const waiting = budget.take(1);
    ending.abort(new Error("ended"));
    await expect(waiting).rejects.toThrow("ended");
  });
});
