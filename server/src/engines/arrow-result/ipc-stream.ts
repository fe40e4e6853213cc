import { CompressionType } from "apache-arrow/fb/compression-type";
import { Message } from "apache-arrow/fb/message";
import { MessageHeader } from "apache-arrow/fb/message-header";
import { RecordBatch } from "apache-arrow/fb/record-batch";
import { Schema } from "apache-arrow/fb/schema";
import { ByteBuffer } from "flatbuffers";

/** The parts of one Spark Connect response, which is a complete IPC stream. All are views of its bytes. */
export interface StreamParts {
  /** The schema message. */
  readonly schema: Uint8Array;
  readonly columns: number;
  /** The remaining messages without the end-of-stream marker: record batches, each after the dictionaries it needs. */
  readonly batches: Uint8Array;
  readonly rows: number;
}

const CONTINUATION = 0xffffffff;
const PREFIX_BYTES = 8;
/** Spark sends a schema and one batch, and a dictionary for each column that has one. */
const MAX_MESSAGES = 10_000;
/** It is compared with that of the first batch. Spark's has a few hundred bytes for each column. */
const MAX_SCHEMA_BYTES = 16 * 1024 * 1024;

export const END_OF_STREAM: Uint8Array = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0);

/**
 * Splits a stream into schema and batches, so that streams with the same schema can be concatenated into one. Reads only
 * the message headers.
 */
export function splitStream(stream: Uint8Array): StreamParts {
  const view = new DataView(stream.buffer, stream.byteOffset, stream.byteLength);
  let [at, schemaEnd, columns, rows, messages] = [0, 0, 0, 0, 0];
  while (at + PREFIX_BYTES <= stream.length) {
    if (view.getUint32(at, true) !== CONTINUATION) throw new Error(`no Arrow message found at byte ${at}`);
    const headBytes = view.getInt32(at + 4, true);
    if (headBytes === 0) break;
    const head = stream.subarray(at + PREFIX_BYTES, at + PREFIX_BYTES + headBytes);
    if (headBytes < 0 || head.length < headBytes) throw new Error("an Arrow message is truncated");
    const message = Message.getRootAsMessage(new ByteBuffer(head));
    const bodyBytes = Number(message.bodyLength());
    // The server is not trusted: a negative length would make this loop endless.
    if (!(bodyBytes >= 0 && bodyBytes <= stream.length)) throw new Error("an Arrow message has an invalid length");
    messages += 1;
    if (messages > MAX_MESSAGES) throw new Error(`an Arrow stream has more than ${MAX_MESSAGES} messages`);
    at += PREFIX_BYTES + headBytes + bodyBytes;
    if (schemaEnd === 0) {
      columns = columnsOf(message);
      schemaEnd = at;
      if (schemaEnd > MAX_SCHEMA_BYTES) throw new Error(`an Arrow schema has more than ${MAX_SCHEMA_BYTES} bytes`);
    } else rows += rowsOf(message);
  }
  if (schemaEnd === 0 || at > stream.length) throw new Error("an Arrow stream is truncated");
  if (at % 8 !== 0 || schemaEnd % 8 !== 0) throw new Error("Arrow messages are not aligned to 8 bytes");
  return { schema: stream.subarray(0, schemaEnd), columns, batches: stream.subarray(schemaEnd, at), rows };
}

function columnsOf(message: Message): number {
  if (message.headerType() !== MessageHeader.Schema) throw new Error("an Arrow stream does not start with a schema");
  const schema = message.header(new Schema()) as Schema | null; // checked by headerType
  return schema?.fieldsLength() ?? 0;
}

function rowsOf(message: Message): number {
  switch (message.headerType()) {
    case MessageHeader.RecordBatch: {
      const batch = message.header(new RecordBatch()) as RecordBatch | null; // checked by headerType
      if (batch?.compression()?.codec() === CompressionType.LZ4_FRAME) {
        throw new Error(
          "results compressed with lz4 cannot be read: set spark.sql.execution.arrow.compression.codec to none or zstd",
        );
      }
      const rows = Number(batch?.length() ?? 0n);
      if (!Number.isSafeInteger(rows) || rows < 0) throw new Error("an Arrow batch has an invalid number of rows");
      return rows;
    }
    case MessageHeader.DictionaryBatch:
      return 0;
    default:
      throw new Error(`unexpected type of Arrow message: ${message.headerType()}`);
  }
}
