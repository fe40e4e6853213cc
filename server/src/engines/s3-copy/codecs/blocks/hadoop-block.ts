import { compressSnappy } from "./raw-snappy.ts";

const HEADER_BYTES = 8;

/** A block with its two lengths and one chunk (`hadoop-snappy.ts`). */
export function encodeSnappyBlock(data: Uint8Array): Uint8Array {
  const compressed = compressSnappy(data);
  const block = new Uint8Array(HEADER_BYTES + compressed.length);
  const header = new DataView(block.buffer);
  header.setUint32(0, data.length);
  header.setUint32(4, compressed.length);
  block.set(compressed, HEADER_BYTES);
  return block;
}
