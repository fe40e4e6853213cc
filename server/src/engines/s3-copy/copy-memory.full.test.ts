import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { peakOfCopy } from "../../../test/memory/copy-memory.ts";
import { useFaultyCopies } from "../../../test/support/faulty-copies.ts";
import { COPY_MEMORY_MIB } from "../../commands/copies/copy-executor.ts";
import { BUFFER_MIB } from "../../commands/copies/copy-request.ts";

const MIB = 1024 * 1024;
const copies = useFaultyCopies();

/** Runs a copy as the product does, and expects that it stays within the reserved memory. */
async function expectWithin(args: string): Promise<void> {
  const { end, peakMiB } = await peakOfCopy(copies.bench.request(args, { bufferMiB: BUFFER_MIB }));
  expect(end.failure).toBeNull();
  expect(peakMiB).toBeGreaterThan(40);
  expect(peakMiB, args).toBeLessThan(COPY_MEMORY_MIB);
}

/** Writes `count` files and copies them to S3 and back. */
async function expectBothWays(count: number, contents: (index: number) => Buffer, options = ""): Promise<void> {
  const names = Array.from({ length: count }, (_, index) => [String(index).padStart(5, "0"), contents(index)] as const);
  const src = copies.putFiles(Object.fromEntries(names));
  const dest = copies.folder();
  const { path, uri } = copies.newFiles();
  await expectWithin(`--src ${src} --dest ${dest} ${options}`);
  await expectWithin(`--src ${dest} --dest ${uri} ${options === "" ? "" : "--outputCodec none"}`);
  rmSync(path, { recursive: true });
}

const line = (index: number): string => `${index} ${randomBytes(8).toString("hex")} a line of a log\n`;
const text = Buffer.from(Array.from({ length: 20_000 }, (_, index) => line(index)).join(""));

describe("the process of a copy needs less memory than is reserved for it, for", () => {
  test("large files", () => expectBothWays(3, () => randomBytes(96 * MIB)));
  test("files of all sizes", () => expectBothWays(54, (index) => randomBytes((index % 9) * 3 * MIB + 100)));
  test("many small files", () => expectBothWays(3000, () => randomBytes(4096)));

  test.each(["gzip", "lzo", "snappy"])("another compression: %s", (codec) =>
    expectBothWays(4, () => Buffer.concat(Array.from({ length: 100 }, () => text)), `--outputCodec ${codec}`),
  );

  test("large and small groups of many files", async () => {
    const gzip = gzipSync(text.subarray(0, 250_000));
    const src = copies.putFiles(
      Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`${String(index).padStart(5, "0")}.gz`, gzip])),
    );
    await expectWithin(`--src ${src} --dest ${copies.folder()} --groupBy '.*/(\\d\\d)\\d+(\\.gz)' --targetSize 128`);
    await expectWithin(`--src ${src} --dest ${copies.folder()} --groupBy '.*/(\\d\\d\\d\\d)\\d(\\.gz)'`);
  });

  test("large files that S3 must get in one request", async () => {
    const src = copies.putFiles({ large: randomBytes(300 * MIB) });
    await expectWithin(`--src ${src} --dest ${copies.folder()} --disableMultipartUpload`);
  });
});
