import { vectorFromArray } from "apache-arrow";
import { Message } from "apache-arrow/fb/message";
import { RecordBatch } from "apache-arrow/fb/record-batch";
import { ByteBuffer } from "flatbuffers";
import { expect, test } from "vitest";
import { streamOf } from "../../../test/support/arrow-streams.ts";
import { splitStream } from "./ipc-stream.ts";
import { ByteSink } from "./values/byte-sink.ts";

const stream = streamOf({ n: vectorFromArray([1, 2, 3]) });
const schemaEnd = splitStream(stream).schema.length;
const headBytes = new DataView(stream.buffer, stream.byteOffset).getInt32(schemaEnd + 4, true);

/** A copy of the stream with one number in the header of its batch replaced. */
function changed(offset: (message: Message) => number, value: bigint): Uint8Array {
  const copy = Uint8Array.from(stream);
  const head = copy.subarray(schemaEnd + 8, schemaEnd + 8 + headBytes);
  const message = Message.getRootAsMessage(new ByteBuffer(head));
  new DataView(head.buffer, head.byteOffset, head.byteLength).setBigInt64(offset(message), value, true);
  return copy;
}

/** Offsets of field 3 of a message and field 0 of a batch. */
const bodyLength = ({ bb, bb_pos }: Message): number => bb_pos + (bb?.__offset(bb_pos, 10) ?? 0);
const rowCount = (message: Message): number => {
  const { bb, bb_pos } = message.header(new RecordBatch()) as RecordBatch; // the second message is a batch
  return bb_pos + (bb?.__offset(bb_pos, 4) ?? 0);
};

test.each([-BigInt(8 + headBytes), -1n, 2n ** 40n, -(2n ** 63n)])(
  "an Arrow message that declares %i bytes is rejected without an endless loop",
  (bytes) => {
    expect(() => splitStream(changed(bodyLength, bytes))).toThrow("invalid length");
  },
);

test.each([-1n, 2n ** 62n])("an Arrow batch that declares %i rows is rejected", (rows) => {
  expect(() => splitStream(changed(rowCount, rows))).toThrow("invalid number of rows");
});

test("an Arrow stream with more messages than Spark ever sends is rejected", () => {
  const batches = splitStream(stream).batches;
  const many = Buffer.concat([stream.subarray(0, schemaEnd), ...Array.from({ length: 10_000 }, () => batches)]);
  expect(() => splitStream(many)).toThrow("more than 10000 messages");
});

test("an Arrow schema that is much larger than Spark's is rejected", () => {
  const wide = streamOf({ ["x".repeat(16 * 1024 * 1024)]: vectorFromArray([1]) });
  expect(() => splitStream(wide)).toThrow("an Arrow schema has more than 16777216 bytes");
});

test("a row that would need gigabytes of text is rejected before memory is allocated", () => {
  expect(() => new ByteSink(8).reserve(600 * 1024 * 1024)).toThrow("bytes of text");
});
