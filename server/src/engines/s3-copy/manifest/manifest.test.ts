import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ManifestEntry } from "./manifest-entry.ts";
import { ManifestWriter } from "./manifest-writer.ts";
import { readManifest, type ManifestLimits } from "./read-manifest.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "headgate-manifest-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const limits: ManifestLimits = { lineBytes: 1000, totalBytes: 100_000, ratio: 20, freeBytes: 10_000 };
const line = '{"path":"s3://b/x/a","baseName":"a","srcDir":"s3://b/x","size":3}';
const entryOfLine: ManifestEntry = { path: "s3://b/x/a", baseName: "a", srcDir: "s3://b/x", size: 3 };

async function* chunksOf(bytes: Buffer, chunkBytes = 7): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
}

async function read(bytes: Buffer, given?: ManifestLimits): Promise<ManifestEntry[]> {
  return Array.fromAsync(readManifest(chunksOf(bytes, 4096), given));
}

describe("a manifest", () => {
  test("has one JSON object per line, in the byte order of paths", async () => {
    const writer = new ManifestWriter(folder);
    const names = ["b", "a/\u{1f600}", "a/\uffee", "a"];
    for (const name of names) writer.add({ path: `s3://b/${name}`, baseName: name, srcDir: "s3://b", size: 7 });
    const bytes = Buffer.concat(await Array.fromAsync(writer.finish()));
    expect(gunzipSync(bytes).toString()).toBe(
      ["a", "a/\uffee", "a/\u{1f600}", "b"]
        .map((name) => `{"path":"s3://b/${name}","baseName":"${name}","srcDir":"s3://b","size":7}\n`)
        .join(""),
    );
  });

  test("is empty but valid without entries", async () => {
    const bytes = Buffer.concat(await Array.fromAsync(new ManifestWriter(folder).finish()));
    expect(await read(bytes)).toEqual([]);
  });

  test("is read as it was written", async () => {
    const text = fc
      .string({ unit: "grapheme", minLength: 1 })
      .filter((each) => each.isWellFormed() && !each.includes("\0"));
    const entry = fc.record({ path: text, baseName: text, srcDir: text, size: fc.maxSafeNat() });
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(entry, { selector: ({ path }) => path }),
        fc.integer({ min: 1, max: 50 }),
        async (entries, chunk) => {
          const writer = new ManifestWriter(folder);
          for (const each of entries) writer.add(each);
          const bytes = Buffer.concat(await Array.fromAsync(writer.finish()));
          const found = await Array.fromAsync(readManifest(chunksOf(bytes, chunk)));
          expect(found).toHaveLength(entries.length);
          expect(new Set(found)).toEqual(new Set(entries));
        },
      ),
      { numRuns: 30 },
    );
  });

  test("may have empty lines, CRLF, several gzip members and no newline at its end", async () => {
    const bytes = Buffer.concat([gzipSync(`${line}\r\n\n`), gzipSync(line)]);
    expect(await read(bytes)).toEqual([entryOfLine, entryOfLine]);
  });

  test.each([
    ["is not gzip", Buffer.from(line), "The manifest is not a complete gzip file."],
    ["is cut off", gzipSync(line).subarray(0, 30), "The manifest is not a complete gzip file."],
    ["is not JSON", gzipSync(`${line}\n{"path"`), "Line 2 of the manifest must be a JSON object."],
    ["is an array", gzipSync("[]"), "Line 1 of the manifest must be a JSON object."],
    ["lacks a field", gzipSync('{"path":"s3://b/a","size":3}'), "Line 1 of the manifest must have the texts path"],
    ["has a bad size", gzipSync(line.replace("3}", "-3}")), "Line 1 of the manifest must have a size in bytes."],
    ["has U+0000", gzipSync(line.replace('"a"', String.raw`"\u0000"`)), "Line 1 of the manifest must have the texts"],
    ["is not UTF-8", gzipSync(Buffer.from([0xff, 0x0a])), "The manifest is not UTF-8 text."],
    ["has a long line", gzipSync(`${"x".repeat(1001)}\n`), "The manifest has a line of more than 1000 bytes."],
    ["has a line that never ends", gzipSync("x".repeat(9000)), "The manifest has a line of more than 1000 bytes."],
    ["is a decompression bomb", gzipSync("\n".repeat(90_000)), "The manifest is too large when it is decompressed."],
    ["is too large", gzipSync(manyLines(1000)), "The manifest is too large when it is decompressed."],
  ])("is refused if it %s", async (_what, bytes, message) => {
    await expect(read(bytes, limits)).rejects.toThrow(message);
  });

  test("passes on an error of its source", async () => {
    async function* broken(): AsyncGenerator<Buffer> {
      yield gzipSync(line).subarray(0, 10);
      throw new Error("connection lost");
    }
    await expect(Array.fromAsync(readManifest(broken()))).rejects.toThrow("connection lost");
  });
});

/** About 150 bytes each, which compress badly. */
function manyLines(count: number): string {
  const names = Array.from({ length: count }, (_, at) => createHash("sha256").update(String(at)).digest("hex"));
  return names.map((name) => line.replace("x/a", `x/${name}`)).join("\n");
}
