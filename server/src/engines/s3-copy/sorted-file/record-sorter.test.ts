import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { RecordSorter } from "./record-sorter.ts";
import type { SortedRecords } from "./sorted-records.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "headgate-plan-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const text = fc.string({ unit: "binary", maxLength: 40 });
const records = fc.array(fc.tuple(text, text), { maxLength: 300 });

function byKey([one]: [string, string], [two]: [string, string]): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(two));
}

async function sorted(input: readonly [string, string][], blockBytes?: number): Promise<SortedRecords> {
  const sorter = new RecordSorter(folder, blockBytes);
  for (const [key, value] of input) sorter.add(key, value);
  return sorter.finish();
}

function readAll(file: SortedRecords): [string, string][] {
  const found: [string, string][] = [];
  for (const cursor = file.cursor(); cursor.advance();) found.push([cursor.key, cursor.value]);
  file.close();
  return found;
}

test("records come out in the byte order of their keys, those with equal keys as they came in", async () => {
  await fc.assert(
    fc.asyncProperty(records, fc.constantFrom(300, 2000, undefined), async (input, blockBytes) => {
      expect(readAll(await sorted(input, blockBytes))).toEqual(input.toSorted(byKey));
    }),
  );
});

test("more runs than are merged together are merged in several passes", async () => {
  const input = Array.from({ length: 20_000 }, (_, at): [string, string] => [String((at * 7919) % 20_011), String(at)]);
  expect(readAll(await sorted(input, 512))).toEqual(input.toSorted(byKey));
});

test("records larger than the read buffer are read whole", async () => {
  const input = Array.from({ length: 5 }, (_, at): [string, string] => [`${9 - at}`, "x".repeat(100_000 + at)]);
  expect(readAll(await sorted(input, 400_000))).toEqual(input.toReversed());
});

test("a record can be read again at its position", async () => {
  const file = await sorted(Array.from({ length: 5000 }, (_, at): [string, string] => [`k${at}`, "v".repeat(at % 50)]));
  const offsets: [number, string][] = [];
  for (const cursor = file.cursor(); cursor.advance();) offsets.push([cursor.offset, cursor.key]);
  for (const [offset, key] of offsets.toReversed().slice(0, 500)) {
    const cursor = file.cursor(offset);
    expect([cursor.advance(), cursor.key]).toEqual([true, key]);
  }
  file.close();
});

test("no file remains in the folder, even while the records are in use", async () => {
  const file = await sorted([
    ["b", ""],
    ["a", ""],
  ]);
  expect(readdirSync(folder)).toEqual([]);
  file.close();
});
