import { availableParallelism } from "node:os";
import { promisify } from "node:util";
import { constants, crc32, deflateRaw } from "node:zlib";
import { blocksOf, mapInOrder } from "./stream-blocks.ts";

/**
 * One gzip member whose blocks are compressed in parallel, as pigz does. Each block starts with the last 32 KiB before
 * it as its dictionary and ends at a byte border, so the blocks together are one deflate stream. Several members would
 * do without dictionaries, but not every reader looks after the first member.
 */
const BLOCK_BYTES = 512 * 1024;
const DICTIONARY_BYTES = 32 * 1024;
/** The pool of libuv has four threads. One more block than there are cores, so that none waits for the consumer. */
const BLOCKS_PER_STREAM = Math.min(availableParallelism(), 4) + 1;
/** The level of `gzip` and `pigz` unless told otherwise. */
const LEVEL = 6;

/** Deflate, no name, no time, written on Unix. */
const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
/** An empty deflate block with the mark of the last one. */
const LAST_BLOCK = Buffer.from([3, 0]);

const compress = promisify<Buffer, object, Buffer>(deflateRaw);

export async function* encodeGzip(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let checksum = 0;
  let length = 0;
  let dictionary: Buffer | undefined;
  yield HEADER;
  yield* mapInOrder(blocksOf(source, BLOCK_BYTES), BLOCKS_PER_STREAM, (block) => {
    checksum = crc32(block, checksum);
    length += block.length;
    const options = {
      level: LEVEL,
      finishFlush: constants.Z_SYNC_FLUSH,
      chunkSize: BLOCK_BYTES / 4,
      ...(dictionary === undefined ? {} : { dictionary }),
    };
    dictionary = block.subarray(-DICTIONARY_BYTES);
    return compress(block, options);
  });
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(checksum, 0);
  trailer.writeUInt32LE(length % 2 ** 32, 4);
  yield Buffer.concat([LAST_BLOCK, trailer]);
}
