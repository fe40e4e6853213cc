/**
 * Hadoop's `.snappy` files: blocks of (length of the data, chunks of (compressed length, raw snappy)), all lengths in
 * four bytes, big-endian. This is not snappy's framing format.
 */
import { ByteReader } from "./byte-reader.ts";
import { blocksOf, mapInOrder } from "./stream-blocks.ts";
import { runBlockTask, TASKS_PER_STREAM } from "../threads/block-threads.ts";
import { maxCompressedBytes, readSnappyLength } from "../blocks/raw-snappy.ts";

export const HADOOP_BLOCK_BYTES = 218_422; // what Hadoop's default buffer of 256 KiB holds in the worst case
/** Hadoop itself writes at most the block size above unless its buffer is set to more. */
const MAX_CHUNK_BYTES = 8 * 1024 * 1024;
const MAX_BLOCK_BYTES = 0x7fffffff;
/** The first four bytes of the framing format. */
const FRAMING_FORMAT = 0xff060000;

/** Writes nothing for empty contents: Hadoop would take an empty block for the end of a concatenated file. */
export async function* encodeSnappy(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const blocks = blocksOf(source, HADOOP_BLOCK_BYTES);
  yield* mapInOrder(blocks, TASKS_PER_STREAM, (bytes) => runBlockTask({ kind: "encode-snappy", bytes }));
}

export async function* decodeSnappy(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const chunks = readChunks(new ByteReader(source));
  yield* mapInOrder(chunks, TASKS_PER_STREAM, (bytes) => runBlockTask({ kind: "decode-snappy", bytes }));
}

async function* readChunks(reader: ByteReader): AsyncGenerator<Buffer> {
  try {
    while (!(await reader.isAtEnd())) {
      let missing = await reader.readUInt32();
      if (missing > MAX_BLOCK_BYTES) throw notHadoops(reader, missing);
      while (missing > 0) {
        const chunk = await readChunk(reader);
        const { size } = readSnappyLength(chunk);
        if (size > missing) throw reader.error("snappy chunk is longer than its block says");
        if (size > MAX_CHUNK_BYTES) throw tooLarge(reader, size);
        missing -= size;
        yield chunk;
      }
    }
  } finally {
    await reader.close();
  }
}

async function readChunk(reader: ByteReader): Promise<Buffer> {
  const length = await reader.readUInt32();
  if (length > maxCompressedBytes(MAX_CHUNK_BYTES)) throw tooLarge(reader, length);
  return reader.read(length);
}

function notHadoops(reader: ByteReader, start: number): Error {
  const format = start === FRAMING_FORMAT ? " It is in snappy's framing format." : "";
  return reader.error(`not a snappy file as Hadoop writes them.${format}`);
}

function tooLarge(reader: ByteReader, bytes: number): Error {
  return reader.error(`snappy chunk of ${bytes} bytes: at most ${MAX_CHUNK_BYTES} are supported`);
}
