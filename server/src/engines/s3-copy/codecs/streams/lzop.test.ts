import { execFileSync, spawnSync } from "node:child_process";
import { crc32 } from "node:zlib";
import { describe, expect, test } from "vitest";
import { chunksOf, collect, sampleBytes } from "../../../../../test/support/byte-streams.ts";
import { because } from "../../../../../test/skip-reasons/skip-reasons.ts";
import { decodeStream, encodeStream } from "../codec.ts";
import { adler32 } from "../blocks/adler32.ts";
import { decodeLzopBlock, encodeLzopBlock } from "../blocks/lzop-block.ts";

/** `lzop -9 -c a.txt b.txt`, version 1.04: two files in one archive, the second one stored. */
const ARCHIVE =
  "iUxaTwANChoKEEAgoAlAAwkDAAQJAACBpGr8tdsAAAAABWEudHh0YsAHhQAACBcAAAD0jxy66yRsaW5lIDEgb2YgdGhlIGZpbGUshwFzYW0AAQx3b3Jk" +
  "cyBhZ2FpbiBhbmSlAQqJBjIgEckAMyARyQA0IBHJADUgEckANiARyQA3IBHJADggEckAOSARygAxMCASzAAgEv0HMSASAQgxIBIFCDEgEgkIMSASDQgx" +
  "IBIRCDEgEhUIMSASGQgxIBIdCDIgEh0IMiATHBAgEh0IMiASHQgyIBIdCDIgEh0IMiASHQgyIBIdCDIgEh0IMiASHQgzIBIdCDMgEh0IMyATQBggEh0I" +
  "MyASHQgzIBIdCDMgEh0IMyASHQgzIBIdCDMgEh0INCANHAgRAAAAAAAAiUxaTwANChoKEEAgoAlAAwkDAAQJAACBpGr8tdsAAAAABWIudHh0YsUHhgAA" +
  "AAwAAAAMHjIER3NlY29uZCBmaWxlCgAAAAA=";

test("an lzop archive with two files is read", async () => {
  const lines = Array.from({ length: 40 }, (_, i) => `line ${i + 1} of the file, the same words again and again\n`);
  const decoded = await collect(decodeStream("lzo", chunksOf(Buffer.from(ARCHIVE, "base64"), 100)));
  expect(decoded.toString()).toBe(`${lines.join("")}second file\n`);
});

test("all four kinds of checksums are verified", () => {
  const data = sampleBytes(5000, 10);
  const bytes = encodeLzopBlock(data).subarray(12);
  const values = [
    { kind: "adler32", of: "data", value: adler32(data) },
    { kind: "crc32", of: "data", value: crc32(data) },
    { kind: "adler32", of: "compressed", value: adler32(bytes) },
    { kind: "crc32", of: "compressed", value: crc32(bytes) },
  ] as const;
  expect(Buffer.from(decodeLzopBlock({ bytes, size: 5000, checksums: values })).equals(data)).toBe(true);
  for (const wrong of values) {
    const checksums = [{ ...wrong, value: wrong.value ^ 1 }];
    expect(() => decodeLzopBlock({ bytes, size: 5000, checksums })).toThrow("lzop block checksum differs");
  }
});

const hasLzop = spawnSync("lzop", ["--version"]).status === 0;

describe.skipIf(!hasLzop)("checked with lzop", because("lzop is not installed (Debian: apt-get install lzop)"), () => {
  const samples = [
    [0, 1],
    [1, 1],
    [262_144, 1],
    [262_145, 60],
    [1_500_000, 900],
    [1_500_000, 300_000],
  ] as const;

  test("lzop reads our files", async () => {
    for (const [size, variety] of samples) {
      const bytes = sampleBytes(size, variety);
      const input = await collect(encodeStream("lzo", chunksOf(bytes)));
      const output = execFileSync("lzop", ["-dc"], { input, maxBuffer: 4_000_000 });
      expect(output.equals(bytes), `${size} bytes of variety ${variety}`).toBe(true);
    }
  });

  test.each(["-1", "-3", "-9", "-F"])("files of lzop %s are read", async (level) => {
    for (const [size, variety] of samples) {
      const input = sampleBytes(size, variety);
      const encoded = execFileSync("lzop", [level, "-c"], { input, maxBuffer: 4_000_000 });
      const decoded = await collect(decodeStream("lzo", chunksOf(encoded)));
      expect(decoded.equals(input), `${size} bytes of variety ${variety}`).toBe(true);
    }
  });
});
