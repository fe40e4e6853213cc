import { ByteReader } from "./byte-reader.ts";
import { blocksOf, mapInOrder } from "./stream-blocks.ts";
import { runBlockTask, TASKS_PER_STREAM } from "../threads/block-threads.ts";
import type { LzopBlock, LzopChecksum } from "../blocks/lzop-block.ts";
import { lzopFlags, lzopHeader, readLzopHeader } from "./lzop-header.ts";

/** The block size of the program lzop. */
export const LZOP_BLOCK_BYTES = 256 * 1024;
/** lzop itself writes 256 KiB; hadoop-lzo can be set to more. */
const MAX_BLOCK_BYTES = 8 * 1024 * 1024;

export async function* encodeLzop(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield lzopHeader();
  const blocks = blocksOf(source, LZOP_BLOCK_BYTES);
  yield* mapInOrder(blocks, TASKS_PER_STREAM, (bytes) => runBlockTask({ kind: "encode-lzop", bytes }));
  yield Buffer.alloc(4);
}

export async function* decodeLzop(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const blocks = readBlocks(new ByteReader(source));
  yield* mapInOrder(blocks, TASKS_PER_STREAM, (block) => runBlockTask({ kind: "decode-lzop", block }));
}

/** The blocks of all files in the stream: lzop puts several into one archive, and archives can be concatenated. */
async function* readBlocks(reader: ByteReader): AsyncGenerator<LzopBlock> {
  try {
    do {
      const flags = await readLzopHeader(reader);
      for (;;) {
        const block = await readBlock(reader, flags);
        if (block === null) break;
        yield block;
      }
    } while (!(await reader.isAtEnd()));
  } finally {
    await reader.close();
  }
}

async function readBlock(reader: ByteReader, flags: number): Promise<LzopBlock | null> {
  const size = await reader.readUInt32();
  if (size === 0) return null;
  const length = await reader.readUInt32();
  if (size > MAX_BLOCK_BYTES) {
    throw reader.error(`lzop block of ${size} bytes: at most ${MAX_BLOCK_BYTES} are supported`);
  }
  if (length > size) throw reader.error("lzop block is longer than its data");
  const checksums: LzopChecksum[] = [];
  for (const { flag, kind, of } of CHECKSUM_FIELDS) {
    if ((flags & flag) === 0 || (of === "compressed" && length === size)) continue;
    checksums.push({ kind, of, value: await reader.readUInt32() });
  }
  return { bytes: await reader.read(length), size, checksums };
}

/** In the order of the file. A block that is stored uncompressed has only the checksums of its data. */
const CHECKSUM_FIELDS = [
  { flag: lzopFlags.adler32OfData, kind: "adler32", of: "data" },
  { flag: lzopFlags.crc32OfData, kind: "crc32", of: "data" },
  { flag: lzopFlags.adler32OfCompressed, kind: "adler32", of: "compressed" },
  { flag: lzopFlags.crc32OfCompressed, kind: "crc32", of: "compressed" },
] as const;
