import fc from "fast-check";
import { execFileSync } from "node:child_process";
import { deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { decodeStream, encodeStream } from "./codec.ts";
import { codecOf, extensionOf, type Codec } from "./codec-table.ts";
import { chunksOf, collect, sampleBytes } from "../../../../test/support/byte-streams.ts";
import { isExhaustive } from "../../../../test/support/exhaustive.ts";

const codecs: readonly Codec[] = ["gzip", "lzo", "snappy"];

test("a codec is recognised by the last extension of the name", () => {
  const names = ["a.gz", "a.lzo", "a.snappy", "a.deflate", "a.zst", "a.bz2", "a.lz4", "a.lzo_deflate", "x.gz/a.snappy"];
  const found = ["gzip", "lzo", "snappy", "deflate", "zstd", "bzip2", "lz4", "lzo-deflate", "snappy"];
  expect(names.map(codecOf)).toEqual(found);
  expect(["a", "a.txt", "gz", ".gz", "x/.gz", "x.gz/a", "a.GZ", "a.gz.txt", "a.toString"].map(codecOf)).toEqual(
    Array<null>(9).fill(null),
  );
});

test("each output codec has the extension by which it is recognised", () => {
  expect(codecs.map(extensionOf)).toEqual([".gz", ".lzo", ".snappy"]);
});

const boundarySizes = [
  0, 1, 3, 4, 5, 17, 238, 239, 65_536, 218_421, 218_422, 218_423, 262_144, 262_145, 524_288, 524_289, 1_600_000,
];
/** Beginnings of these have every size: making them takes longer than encoding and decoding them. */
const varieties = (isExhaustive ? [1, 50, 100_000] : [50]).map((variety) => ({
  variety,
  longest: sampleBytes(1_600_000, variety),
}));

describe.each(codecs)("%s", (codec) => {
  test("contents with sizes around block boundaries are restored", async () => {
    for (const size of boundarySizes) {
      for (const { variety, longest } of varieties) {
        const bytes = longest.subarray(0, size);
        const encoded = await collect(encodeStream(codec, chunksOf(bytes)));
        const decoded = await collect(decodeStream(codec, chunksOf(encoded)));
        expect(decoded.equals(bytes), `${size} bytes of variety ${variety}`).toBe(true);
      }
    }
  });

  test("any contents in chunks of any size are restored", async () => {
    const sample = fc.record({
      length: fc.integer({ min: 0, max: 70_000 }),
      variety: fc.integer({ min: 1, max: 3000 }),
      seed: fc.integer(),
      sizes: fc.tuple(fc.integer({ min: 50, max: 80_000 }), fc.integer({ min: 7, max: 80_000 })),
    });
    await fc.assert(
      fc.asyncProperty(sample, async ({ length, variety, seed, sizes: [inputSize, encodedSize] }) => {
        const bytes = sampleBytes(length, variety, seed);
        const encoded = await collect(encodeStream(codec, chunksOf(bytes, inputSize)));
        const decoded = await collect(decodeStream(codec, chunksOf(encoded, encodedSize)));
        expect(decoded.equals(bytes)).toBe(true);
      }),
      { numRuns: isExhaustive ? 60 : 20 },
    );
  });

  test("files that are concatenated are decoded one after the other", async () => {
    const parts = [sampleBytes(300_000, 50), sampleBytes(0, 1), sampleBytes(5, 5), sampleBytes(600_000, 9)];
    const encoded = await Promise.all(parts.map((part) => collect(encodeStream(codec, chunksOf(part)))));
    for (const size of [1000, 65_536]) {
      const decoded = await collect(decodeStream(codec, chunksOf(Buffer.concat(encoded), size)));
      expect(decoded.equals(Buffer.concat(parts))).toBe(true);
    }
  });

  test("repetitions become small, and random bytes hardly grow", async () => {
    const repeated = await collect(encodeStream(codec, chunksOf(sampleBytes(1_000_000, 1))));
    expect(repeated.length).toBeLessThan(60_000);
    const random = await collect(encodeStream(codec, chunksOf(sampleBytes(1_000_000, 200_000))));
    expect(random.length).toBeLessThan(1_001_000);
  });

  test("an error of the source is passed on", async () => {
    async function* broken(): AsyncGenerator<Buffer> {
      yield Buffer.alloc(100_000);
      throw new Error("the connection broke");
    }
    await expect(collect(encodeStream(codec, broken()))).rejects.toThrow("the connection broke");
    const encoded = await collect(encodeStream(codec, chunksOf(sampleBytes(2_000_000, 1000))));
    async function* cut(): AsyncGenerator<Buffer> {
      yield encoded.subarray(0, 100_000);
      throw new Error("the connection broke");
    }
    await expect(collect(decodeStream(codec, cut()))).rejects.toThrow("the connection broke");
  });

  test("a source that never answers is abandoned when the signal is aborted", async () => {
    for (const start of [encodeStream, decodeStream]) {
      const stop = new AbortController();
      async function* silent(): AsyncGenerator<Buffer> {
        stop.abort(new Error("cancelled"));
        await new Promise(() => undefined);
        yield Buffer.alloc(1);
      }
      await expect(collect(start(codec, silent(), stop.signal))).rejects.toThrow("cancelled");
    }
  });

  test("a consumer that stops reading closes the source, which was read a few MiB ahead at most", async () => {
    for (const start of [encodeStream, decodeStream]) {
      const { source, state } = endless(start === encodeStream ? Buffer.alloc(65_536, "text ") : await oneBlock(codec));
      const stream = start(codec, source);
      for (let chunks = 0; chunks < 3; chunks++) expect((await stream.next()).done).toBe(false);
      await stream.return(undefined);
      expect(state.isClosed).toBe(true);
      expect(state.bytes).toBeLessThan(4 * 1024 * 1024);
    }
  });
});

/** A compressed file that can be repeated endlessly. */
function oneBlock(codec: Codec): Promise<Buffer> {
  return collect(encodeStream(codec, chunksOf(sampleBytes(65_536, 30_000))));
}

function endless(chunk: Buffer): { source: AsyncIterable<Buffer>; state: { bytes: number; isClosed: boolean } } {
  const state = { bytes: 0, isClosed: false };
  async function* source(): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        state.bytes += chunk.length;
        yield chunk;
      }
    } finally {
      state.isClosed = true;
    }
  }
  return { source: source(), state };
}

describe("gzip and its relatives", () => {
  test("gzip accepts our files", async () => {
    for (const size of [0, 1, 524_288, 1_600_000]) {
      const bytes = sampleBytes(size, 500);
      const input = await collect(encodeStream("gzip", chunksOf(bytes)));
      const output = execFileSync("gzip", ["-dc"], { input, maxBuffer: 4_000_000 });
      expect(output.equals(bytes)).toBe(true);
    }
  });

  test("our files have one member, because some readers stop after the first", async () => {
    const bytes = sampleBytes(2_000_000, 500);
    const encoded = await collect(encodeStream("gzip", chunksOf(bytes)));
    expect(encoded.readUInt32LE(encoded.length - 4)).toBe(bytes.length);
  });

  test.each([
    ["gzip", gzipSync],
    ["deflate", deflateSync],
    ["zstd", zstdCompressSync],
  ] as const)("%s: several members and zeros after the last one are read", async (codec, compress) => {
    const parts = [sampleBytes(3000, 50), sampleBytes(9, 3), sampleBytes(0, 1), sampleBytes(800, 7)];
    const file = Buffer.concat(parts.map((part) => compress(part)));
    const expected = Buffer.concat(parts);
    const first = compress(parts[0] ?? Buffer.alloc(0)).length;
    for (const size of [7, first - 1, first, first + 1, 65_536]) {
      const decoded = await collect(decodeStream(codec, chunksOf(file, size)));
      expect(decoded.equals(expected), `chunks of ${size}`).toBe(true);
    }
    const padded = Buffer.concat([file, Buffer.alloc(70_000)]);
    expect((await collect(decodeStream(codec, chunksOf(padded)))).equals(expected)).toBe(true);
  });

  test.each(["bzip2", "lz4", "lzo-deflate"] as const)("%s is refused, and the error says what to do", async (codec) => {
    const reading = collect(decodeStream(codec, chunksOf(Buffer.alloc(10))));
    await expect(reading).rejects.toThrow(/cannot be decoded.*Copy it without --outputCodec/);
  });
});
