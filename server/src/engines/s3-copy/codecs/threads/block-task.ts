import { type LzopBlock, decodeLzopBlock, encodeLzopBlock } from "../blocks/lzop-block.ts";
import { encodeSnappyBlock } from "../blocks/hadoop-block.ts";
import { decompressSnappy } from "../blocks/raw-snappy.ts";

/** Work on one block for a thread. */
export type BlockTask =
  | { readonly kind: "encode-lzop" | "encode-snappy" | "decode-snappy"; readonly bytes: Uint8Array }
  | { readonly kind: "decode-lzop"; readonly block: LzopBlock };

/** May return the bytes of the task itself. Throws CodecError if the block is damaged. */
export function performBlockTask(task: BlockTask): Uint8Array {
  switch (task.kind) {
    case "encode-lzop":
      return encodeLzopBlock(task.bytes);
    case "decode-lzop":
      return decodeLzopBlock(task.block);
    case "encode-snappy":
      return encodeSnappyBlock(task.bytes);
    case "decode-snappy":
      return decompressSnappy(task.bytes);
  }
}

export function bytesOf(task: BlockTask): Uint8Array {
  return task.kind === "decode-lzop" ? task.block.bytes : task.bytes;
}
