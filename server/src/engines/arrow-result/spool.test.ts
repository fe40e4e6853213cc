import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  compressionRegistry,
  CompressionType,
  Int32,
  RecordBatchStreamWriter,
  tableFromArrays,
  tableFromIPC,
  Utf8,
  vectorFromArray,
} from "apache-arrow";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { appendAll, emptyStream, received, streamOf, type GivenBatch } from "../../../test/support/arrow-streams.ts";
import { numberedBatch, NUMBERED_ROWS } from "../../../test/support/numbered-batches.ts";
import { END_OF_STREAM } from "./ipc-stream.ts";
import { RECORD_BYTES } from "./spool-index.ts";
import { SpoolReader } from "./spool-reader.ts";
import { findResult, spoolFiles } from "./spool-result.ts";
import { createSpool, reopenSpool } from "./spool-writer.ts";

const columns = [
  { name: "n", type: "int" },
  { name: "s", type: "string" },
];

function batch(from: number, count: number): GivenBatch {
  const numbers = Array.from({ length: count }, (_, i) => from + i);
  const data = streamOf({
    n: vectorFromArray(numbers, new Int32()),
    s: vectorFromArray(
      numbers.map((n) => `row ${n}`),
      new Utf8(),
    ),
  });
  return { data, rows: count };
}

const three = [batch(0, 5), batch(5, 1), batch(6, 40)];

describe("a spool", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "headgate-spool-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const target = (statement = 0): { folder: string; statement: number } => ({ folder, statement });
  const files = (statement = 0) => spoolFiles(folder, statement);
  const names = (): string[] => readdirSync(folder).sort();

  async function spooled(batches: readonly GivenBatch[], statement = 0, parts = 1) {
    const spool = await createSpool(target(statement));
    await appendAll(spool, received(batches, parts));
    return spool.finish(columns);
  }

  function numbersIn(dataFile: string): number[] {
    const table = tableFromIPC(Buffer.concat([readFileSync(dataFile), END_OF_STREAM]));
    return [...table].map((row) => Number(row?.["n"]));
  }

  test("is one Arrow stream with all batches", async () => {
    const result = await spooled(three);
    expect(result).toMatchObject({ statement: 0, rows: 46, records: 4, columns });
    expect(numbersIn(files().dataFile)).toEqual(Array.from({ length: 46 }, (_, i) => i));
    expect(result?.bytes).toBe(statSync(files().dataFile).size);
    expect(await findResult(folder)).toEqual(result);
  });

  test("joins the parts of a large batch", async () => {
    const whole = await spooled(three, 0);
    const inParts = await spooled(three, 1, 3);
    expect(inParts).toMatchObject({ rows: 46, bytes: whole?.bytes });
    expect(numbersIn(files(1).dataFile)).toHaveLength(46);
  });

  test("is synced to disk soon, but not immediately", async () => {
    const [first, second] = received(three);
    if (first === undefined || second === undefined) throw new Error("no batches");
    const spool = await createSpool(target());
    await spool.append(first);
    expect(spool.lastSynced()).toBeUndefined(); // checked before the second append, during which a sync may happen
    await spool.append(second);
    await expect.poll(() => spool.lastSynced()).toEqual({ position: "position-1-0", rows: 6 });
    await spool.close();
  });

  test("never has more than a few MiB that are not synced", async () => {
    const spool = await createSpool(target());
    for (let number = 0; number < 100; number++) {
      await spool.append(numberedBatch(number));
      const unsafe = number + 1 - (spool.lastSynced()?.rows ?? 0) / NUMBERED_ROWS;
      expect(unsafe * 310_000).toBeLessThan(9 * 1024 * 1024);
    }
    await spool.close();
  });

  test("finds the batch of a row among hundreds", async () => {
    const many = Array.from({ length: 700 }, (_, i) => batch(i * 2, 2));
    const result = await spooled(many);
    if (result === undefined) throw new Error("no result");
    const reader = new SpoolReader(result);
    expect([0, 1, 2, 1399].map((row) => reader.recordOfRow(row))).toEqual([1, 1, 2, 700]);
    expect(reader.recordOfRow(1400)).toBe(result.records);
    reader.close();
  });

  test("reports damage when it is read", async () => {
    const result = await spooled(three);
    if (result === undefined) throw new Error("no result");
    const bytes = readFileSync(result.dataFile);
    bytes[bytes.length - 70] = (bytes.at(-70) ?? 0) ^ 1;
    writeFileSync(result.dataFile, bytes);
    const reader = new SpoolReader(result);
    expect(reader.read(2).length).toBeGreaterThan(0);
    expect(() => reader.read(3)).toThrow("damaged");
    reader.close();
  });

  describe("of a script", () => {
    test("is the result of the last statement with columns; earlier ones are removed", async () => {
      await spooled([batch(0, 3)], 0);
      const second = await spooled([batch(10, 2)], 2);
      expect(names()).toEqual(["result-2.arrow", "result-2.index"]);
      const ddl = await createSpool(target(3));
      await appendAll(ddl, received([{ data: emptyStream(), rows: 0 }]));
      expect(await ddl.finish([])).toBeUndefined();
      expect(await findResult(folder)).toEqual(second);
      expect(names()).toEqual(["result-2.arrow", "result-2.index"]);
    });

    test("can be the result of a query without rows", async () => {
      await spooled([batch(0, 3)], 0);
      await spooled([batch(0, 0)], 1);
      expect(await findResult(folder)).toMatchObject({ statement: 1, rows: 0 });
    });

    test("is the previous result while a later statement runs", async () => {
      const first = await spooled([batch(0, 3)], 0);
      const running = await createSpool(target(1));
      await appendAll(running, received(three));
      await running.sync();
      expect(await findResult(folder)).toEqual(first);
      await running.close();
    });

    test("is undefined if no statement returned one or the folder is missing", async () => {
      expect(await findResult(folder)).toBeUndefined();
      expect(await findResult(join(folder, "gone"))).toBeUndefined();
    });
  });

  describe("that is reopened", () => {
    test("continues after the last synced batch", async () => {
      const [first, second, third] = received(three);
      const before = await createSpool(target());
      expect(before.lastSynced()).toBeUndefined();
      await appendAll(
        before,
        [first, second].filter((given) => given !== undefined),
      );
      await before.sync();
      expect(before.lastSynced()).toEqual({ position: "position-1-0", rows: 6 });
      await before.close();

      const after = await reopenSpool(target());
      expect(after.lastSynced()).toEqual({ position: "position-1-0", rows: 6 });
      if (third !== undefined) await after.append(third);
      expect(await after.finish(columns)).toMatchObject({ rows: 46 });
      expect(numbersIn(files().dataFile)).toEqual(Array.from({ length: 46 }, (_, i) => i));
    });

    test("can be finished a second time with the same result", async () => {
      const result = await spooled(three);
      const again = await reopenSpool(target());
      expect(again.lastSynced()).toEqual({ position: "position-2-0", rows: 46 });
      expect(await again.finish(columns)).toEqual(result);
    });

    test("starts empty if there are no files", async () => {
      const spool = await reopenSpool(target());
      expect(spool.lastSynced()).toBeUndefined();
      await appendAll(spool, received(three));
      expect(await spool.finish(columns)).toMatchObject({ rows: 46 });
    });

    test("discards everything after a torn write, at any offset", async () => {
      const result = await spooled(three);
      if (result === undefined) throw new Error("no result");
      const [data, index] = [readFileSync(result.dataFile), readFileSync(result.indexFile)];
      const reader = new SpoolReader(result);
      const ends = [0, 1, 2, 3].map((number) => reader.record(number).end);
      reader.close();
      const wholeBatches = (indexBytes: number, dataBytes: number): number =>
        ends.filter((end, i) => i > 0 && end <= dataBytes && (i + 1) * RECORD_BYTES <= indexBytes).length;
      for (let cut = 1; cut <= data.length; cut += 37) {
        writeFileSync(result.indexFile, index);
        writeFileSync(result.dataFile, data);
        const [indexBytes, dataBytes] = [Math.min(index.length, 4 * RECORD_BYTES - (cut % 200)), data.length - cut];
        truncateSync(result.indexFile, indexBytes);
        truncateSync(result.dataFile, dataBytes);
        const spool = await reopenSpool(target());
        const kept = wholeBatches(indexBytes, dataBytes);
        expect(spool.lastSynced()?.position, `cut at ${cut}`).toBe(kept === 0 ? undefined : `position-${kept - 1}-0`);
        await appendAll(spool, received(three).slice(kept));
        await spool.finish(columns);
        expect(readFileSync(result.dataFile).equals(data)).toBe(true);
      }
    });

    test("discards data with a wrong checksum", async () => {
      const result = await spooled(three);
      if (result === undefined) throw new Error("no result");
      const data = readFileSync(result.dataFile);
      const [, , second = 0] = [0, 1, 2].map((number) => {
        const reader = new SpoolReader(result);
        const { end } = reader.record(number);
        reader.close();
        return end;
      });
      data.fill(0, second - 16, second);
      writeFileSync(result.dataFile, data);
      const spool = await reopenSpool(target());
      expect(spool.lastSynced()).toEqual({ position: "position-0-0", rows: 5 });
      await spool.close();
    });
  });

  describe("refuses", () => {
    test.each([
      ["a batch that starts at the wrong row", { startRow: 6 }, "starts at row 6 instead of row 5"],
      ["a batch with fewer rows than it declares", { rowCount: 2 }, "a batch declares 2 rows but has 1"],
      ["a part out of order", { part: 1, parts: 2 }, "part 1 of a batch arrived instead of part 0"],
      ["a position with a control character", { position: "a\nb" }, "position"],
    ])("%s", async (_, wrong, message) => {
      const [first, second] = received(three);
      if (first === undefined || second === undefined) throw new Error("no batches");
      const spool = await createSpool(target());
      await spool.append(first);
      await expect(spool.append({ ...second, ...wrong })).rejects.toThrow(message);
      await spool.close();
    });

    test("a batch of more than 1000 parts, whether or not they have bytes", async () => {
      const spool = await createSpool(target());
      const part = { data: new Uint8Array(), rowCount: 1, startRow: 0, parts: 1_000_000, position: "p" };
      for (let index = 0; index < 1000; index += 1) await spool.append({ ...part, part: index });
      await expect(spool.append({ ...part, part: 1000 })).rejects.toThrow("a batch has more than 1000 parts");
      await spool.close();
    });

    test("a batch with an unsupported compression", async () => {
      const head = Buffer.from("04224d18604073", "hex"); // the header is enough here
      compressionRegistry.set(CompressionType.LZ4_FRAME, { encode: (data) => Buffer.concat([head, data]) });
      const writer = new RecordBatchStreamWriter({ compressionType: CompressionType.LZ4_FRAME });
      const data = writer.writeAll(tableFromArrays({ n: Int32Array.of(1, 2) }).batches).toUint8Array(true);
      const spool = await createSpool(target());
      const [first] = received([{ data, rows: 2 }]);
      if (first === undefined) throw new Error("no batch");
      await expect(spool.append(first)).rejects.toThrow("lz4 cannot be read: set spark.sql");
      await spool.close();
    });

    test("a batch with another schema", async () => {
      const other = { data: streamOf({ x: vectorFromArray([1], new Int32()) }), rows: 1 };
      const spool = await createSpool(target());
      const [first, second] = received([batch(0, 1), other]);
      if (first === undefined || second === undefined) throw new Error("no batches");
      await spool.append(first);
      await expect(spool.append(second)).rejects.toThrow("the schema changed");
      await spool.close();
    });

    test.each([
      ["truncated", (bytes: Uint8Array) => bytes.subarray(0, bytes.length / 2)],
      ["not an Arrow stream", () => Buffer.from("something else altogether")],
      ["empty", () => new Uint8Array(0)],
    ])("bytes that are %s", async (_, spoil) => {
      const [first] = received([batch(0, 100)]);
      if (first === undefined) throw new Error("no batch");
      const spool = await createSpool(target());
      await expect(spool.append({ ...first, data: spoil(first.data) })).rejects.toThrow("Arrow");
      expect(statSync(files().dataFile).size).toBe(0);
      await spool.close();
    });
  });
});
