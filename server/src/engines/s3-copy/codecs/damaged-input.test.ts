import { beforeAll, describe, expect, test } from "vitest";
import { deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { chunksOf, collect, generatorOf, sampleBytes } from "../../../../test/support/byte-streams.ts";
import { isExhaustive } from "../../../../test/support/exhaustive.ts";
import { decodeStream, encodeStream } from "./codec.ts";
import type { DecodedCodec } from "./codec-table.ts";
import { CodecError } from "./blocks/codec-error.ts";
import { decompressLzo1x } from "./blocks/lzo1x-decompress.ts";
import { compressLzo1x } from "./blocks/lzo1x-compress.ts";
import { compressSnappy, decompressSnappy, readSnappyLength } from "./blocks/raw-snappy.ts";

const codecs: readonly DecodedCodec[] = ["gzip", "lzo", "snappy", "deflate", "zstd"];
const contents = sampleBytes(300_000, 300);
const files = new Map<DecodedCodec, Buffer>();

beforeAll(async () => {
  files.set("deflate", deflateSync(contents)).set("zstd", zstdCompressSync(contents));
  for (const codec of ["gzip", "lzo", "snappy"] as const) {
    files.set(codec, await collect(encodeStream(codec, chunksOf(contents))));
  }
});

const fileOf = (codec: DecodedCodec): Buffer => files.get(codec) ?? Buffer.alloc(0);

/** The decoded contents, or the message of the CodecError. Any other error fails the test. */
async function outcome(codec: DecodedCodec, bytes: Buffer): Promise<Buffer | string> {
  try {
    return await collect(decodeStream(codec, chunksOf(bytes)));
  } catch (error) {
    if (error instanceof CodecError) return error.message;
    throw error;
  }
}

describe.each(codecs)("%s", (codec) => {
  test("a file that ends too early is reported with its length", async () => {
    const file = fileOf(codec);
    const lengths = [1, 3, 5, 12, file.length >> 1, file.length - 5, file.length - 1];
    for (const length of codec === "snappy" ? lengths : [0, ...lengths]) {
      expect(await outcome(codec, file.subarray(0, length)), `the first ${length}`).toBe(`truncated at byte ${length}`);
    }
  });

  test("other contents are refused", async () => {
    for (const other of [Buffer.from("a,b,c\n".repeat(100)), Buffer.alloc(100, 0xff)]) {
      expect(await outcome(codec, other)).toBeTypeOf("string");
    }
    for (const other of codecs.filter((name) => name !== codec)) {
      expect(await outcome(codec, fileOf(other)), other).toBeTypeOf("string");
    }
  });

  test("data after the end is refused", async () => {
    const followed = Buffer.concat([fileOf(codec), Buffer.from("more data")]);
    expect(await outcome(codec, followed)).toBeTypeOf("string");
  });

  test("changed bytes never crash the decoder, and contents that are still decoded have the right length", async () => {
    const next = generatorOf(7);
    for (let i = 0; i < (isExhaustive ? 150 : 50); i++) {
      const file = Buffer.from(fileOf(codec));
      for (let changes = 1 + Math.floor(next() * 3); changes > 0; changes--) {
        // Half of the changes are in the headers at the start.
        const at = Math.floor(next() * (next() < 0.5 ? 40 : file.length));
        file[at] = Math.floor(next() * 256);
      }
      const result = await outcome(codec, file);
      expect(typeof result === "string" || result.length === contents.length).toBe(true);
    }
  });
});

test("the error for a file of another format names the expected one", async () => {
  const text = Buffer.from("a,b,c\n".repeat(100));
  expect(await outcome("gzip", text)).toBe("not a gzip file");
  expect(await outcome("deflate", text)).toBe("not a zlib file");
  expect(await outcome("zstd", text)).toBe("not a zstd file");
  expect(await outcome("lzo", text)).toMatch(/^not an lzop file/);
  const framed = Buffer.concat([Buffer.from([0xff, 6, 0, 0]), Buffer.from("sNaPpY")]);
  expect(await outcome("snappy", framed)).toMatch(
    /^not a snappy file as Hadoop writes them. It is in snappy's framing/,
  );
});

test("a wrong checksum is reported", async () => {
  const gzip = Buffer.from(fileOf("gzip"));
  gzip.writeUInt32LE(1, gzip.length - 8);
  expect(await outcome("gzip", gzip)).toMatch(/^damaged gzip data: incorrect data check/);
  const lzop = Buffer.from(fileOf("lzo"));
  lzop.writeUInt32BE(1, 38 + 8);
  expect(await outcome("lzo", lzop)).toBe("lzop block checksum differs");
  lzop.writeUInt8(9, 16); // the level, which nothing else depends on
  expect(await outcome("lzo", lzop)).toMatch(/^lzop header checksum differs/);
});

test("a member after zeros is reported, not dropped", async () => {
  const member = gzipSync(contents);
  const hidden = Buffer.concat([member, Buffer.alloc(70_000), member]);
  expect(await outcome("gzip", hidden)).toMatch(/^data follows after zeros/);
});

test("blocks that would need much memory are refused before it is allocated", async () => {
  const lzop = Buffer.from(fileOf("lzo"));
  lzop.writeUInt32BE(0x7fffffff, 38);
  expect(await outcome("lzo", lzop)).toMatch(/^lzop block of 2147483647 bytes: at most 8388608 are supported/);
  const snappy = Buffer.from([0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 8, 0xff, 0xff, 0xff, 0xff, 0x07, 0, 0, 0]);
  expect(await outcome("snappy", snappy)).toMatch(/^snappy chunk of 2147483647 bytes: at most/);
  // An empty zstd frame with a window of 2^27 bytes.
  const window = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, (27 - 10) << 3, 1, 0, 0]);
  expect(await outcome("zstd", window)).toMatch(/^the zstd window is larger than 8 MiB/);
  window[5] = (23 - 10) << 3;
  expect(await outcome("zstd", window)).toEqual(Buffer.alloc(0));
});

describe("a file of a few MiB that holds a GiB", () => {
  test.each(["gzip", "lzo", "snappy"] as const)(
    "%s is decoded as a stream and stopped by the signal",
    async (codec) => {
      const zeros = await collect(encodeStream(codec, chunksOf(Buffer.alloc(4 * 1024 * 1024))));
      const stop = new AbortController();
      let given = 0;
      async function* bomb(): AsyncGenerator<Buffer> {
        for (; given < 256; given++) yield zeros;
      }
      let decoded = 0;
      const reading = (async () => {
        for await (const chunk of decodeStream(codec, bomb(), stop.signal)) {
          expect(chunk.length).toBeLessThanOrEqual(256 * 1024);
          decoded += chunk.length;
          if (decoded > 8 * 1024 * 1024) stop.abort(new Error("enough"));
        }
      })();
      await expect(reading).rejects.toThrow("enough");
      expect(given).toBeLessThan(8);
      expect(decoded).toBeLessThan(10 * 1024 * 1024);
    },
  );
});

describe("any bytes", () => {
  test.each([
    ["LZO", (bytes: Uint8Array) => decompressLzo1x(bytes, 5000).length === 5000, compressLzo1x],
    ["snappy", decodesSnappy, compressSnappy],
  ] as const)("%s ends with data of the declared length or with CodecError", (_name, decode, encode) => {
    const next = generatorOf(11);
    const valid = encode(sampleBytes(5000, 40)) ?? new Uint8Array();
    const wrong: Uint8Array[] = []; // 20,000 expectations would take longer than all else
    for (let i = 0; i < (isExhaustive ? 20_000 : 5000); i++) {
      const bytes = i % 2 === 0 ? Uint8Array.from(valid) : new Uint8Array(Math.floor(next() * 60));
      const changes = i % 2 === 0 ? 1 + Math.floor(next() * 4) : bytes.length;
      for (let change = 0; change < changes; change++) {
        const at = i % 2 === 0 ? Math.floor(next() * bytes.length) : change;
        bytes[at] = Math.floor(next() * 256);
      }
      if (!decodesOrRefuses(decode, bytes)) wrong.push(bytes);
    }
    expect(wrong).toEqual([]);
  });
});

function decodesOrRefuses(decode: (bytes: Uint8Array) => boolean, bytes: Uint8Array): boolean {
  try {
    return decode(bytes);
  } catch (error) {
    return error instanceof CodecError;
  }
}

/** The container limits the length that the data declares. */
function decodesSnappy(bytes: Uint8Array): boolean {
  const { size } = readSnappyLength(bytes);
  return size > 100_000 || decompressSnappy(bytes).length === size;
}
