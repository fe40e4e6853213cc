import { crc32 } from "node:zlib";
import { CodecError } from "./codec-error.ts";
import { adler32 } from "./adler32.ts";
import { compressLzo1x } from "./lzo1x-compress.ts";
import { decompressLzo1x } from "./lzo1x-decompress.ts";

/** A block of an lzop file. It is stored as it is if `bytes` has the full size. */
export interface LzopBlock {
  readonly bytes: Uint8Array;
  readonly size: number;
  readonly checksums: readonly LzopChecksum[];
}

export interface LzopChecksum {
  readonly kind: "adler32" | "crc32";
  readonly of: "data" | "compressed";
  readonly value: number;
}

const sums = { adler32, crc32: (bytes: Uint8Array) => crc32(bytes) } as const;

export function decodeLzopBlock({ bytes, size, checksums }: LzopBlock): Uint8Array {
  verify(bytes, "compressed", checksums);
  const data = bytes.length === size ? bytes : decompressLzo1x(bytes, size);
  verify(data, "data", checksums);
  return data;
}

function verify(bytes: Uint8Array, what: LzopChecksum["of"], checksums: readonly LzopChecksum[]): void {
  for (const { kind, of, value } of checksums) {
    if (of === what && sums[kind](bytes) !== value) throw new CodecError("lzop block checksum differs");
  }
}

const HEADER_BYTES = 12;

/** The block with its lengths and the Adler-32 of its data, as `lzopHeader` announces it. */
export function encodeLzopBlock(data: Uint8Array): Uint8Array {
  const contents = compressLzo1x(data) ?? data;
  const block = new Uint8Array(HEADER_BYTES + contents.length);
  const header = new DataView(block.buffer);
  header.setUint32(0, data.length);
  header.setUint32(4, contents.length);
  header.setUint32(8, adler32(data));
  block.set(contents, HEADER_BYTES);
  return block;
}
