import { CompressionType } from "apache-arrow/fb/compression-type";
import { Message } from "apache-arrow/fb/message";
import { MessageHeader } from "apache-arrow/fb/message-header";
import { RecordBatch } from "apache-arrow/fb/record-batch";
import { Schema } from "apache-arrow/fb/schema";
import { ByteBuffer } from "flatbuffers";

/** What one response of Spark Connect holds: a whole little IPC stream. The parts are views of it. */
export interface StreamParts {
  /** The schema's message. */
  readonly schema: Uint8Array;
  readonly columns: number;
  /** All that is behind it: record batches, before each the dictionaries it needs; without the end mark. */
  readonly batches: Uint8Array;
  readonly rows: number;
}

const CONTINUATION = 0xffffffff;
const PREFIX_BYTES = 8;
/** Spark sends a schema and one batch, and a dictionary for each column that has one. */
const MOST_MESSAGES = 10_000;

/** The mark that ends a stream. */
export const END_OF_STREAM: Uint8Array = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0);

/**
 * Cuts a stream at its messages, so that many streams of one schema can be put behind each other as one. Reads only the
 * messages' heads.
 */
export function cutStream(stream: Uint8Array): StreamParts {
  const view = new DataView(stream.buffer, stream.byteOffset, stream.byteLength);
  let [at, schemaEnd, columns, rows, messages] = [0, 0, 0, 0, 0];
  while (at + PREFIX_BYTES <= stream.length) {
    if (view.getUint32(at, true) !== CONTINUATION) throw new Error(`no Arrow message at byte ${at}`);
    const headBytes = view.getInt32(at + 4, true);
    if (headBytes === 0) break;
    const head = stream.subarray(at + PREFIX_BYTES, at + PREFIX_BYTES + headBytes);
    if (headBytes < 0 || head.length < headBytes) throw new Error("an Arrow message is cut off");
    const message = Message.getRootAsMessage(new ByteBuffer(head));
    const bodyBytes = Number(message.bodyLength());
    // A server can send any number: one below zero would lead us round in a circle.
    if (!(bodyBytes >= 0 && bodyBytes <= stream.length)) throw new Error("an Arrow message has an impossible length");
    messages += 1;
    if (messages > MOST_MESSAGES) throw new Error(`an Arrow stream has more than ${MOST_MESSAGES} messages`);
    at += PREFIX_BYTES + headBytes + bodyBytes;
    if (schemaEnd === 0) {
      columns = columnsOf(message);
      schemaEnd = at;
    } else rows += rowsOf(message);
  }
  if (schemaEnd === 0 || at > stream.length) throw new Error("an Arrow stream is cut off");
  if (at % 8 !== 0 || schemaEnd % 8 !== 0) throw new Error("Arrow messages are not aligned");
  return { schema: stream.subarray(0, schemaEnd), columns, batches: stream.subarray(schemaEnd, at), rows };
}

function columnsOf(message: Message): number {
  if (message.headerType() !== MessageHeader.Schema) throw new Error("an Arrow stream does not begin with its schema");
  const schema = message.header(new Schema()) as Schema | null; // by the type of the header
  return schema?.fieldsLength() ?? 0;
}

function rowsOf(message: Message): number {
  switch (message.headerType()) {
    case MessageHeader.RecordBatch: {
      const batch = message.header(new RecordBatch()) as RecordBatch | null; // by the type of the header
      if (batch?.compression()?.codec() === CompressionType.LZ4_FRAME) {
        throw new Error(
          "results compressed with lz4 cannot be read: set spark.sql.execution.arrow.compression.codec to none or zstd",
        );
      }
      const rows = Number(batch?.length() ?? 0n);
      if (!Number.isSafeInteger(rows) || rows < 0) throw new Error("an Arrow batch has an impossible number of rows");
      return rows;
    }
    case MessageHeader.DictionaryBatch:
      return 0;
    default:
      throw new Error(`an Arrow message of an unexpected kind (${message.headerType()})`);
  }
}
