import { zstdDecompressSync } from "node:zlib";
import { compressionRegistry, CompressionType, RecordBatchReader, type RecordBatch } from "apache-arrow";
import { ByteSink } from "./values/byte-sink.ts";
import { END_OF_STREAM } from "./ipc-stream.ts";
import { csvFormat, jsonFormat, textFormat, type RowFormat } from "./row-formats.ts";
import { SpoolReader, type SpoolToRead } from "./spool-reader.ts";
import { writeEscaped } from "./values/string-writers.ts";

/** What the buffers of one record may have together; Spark makes batches of 4 MiB, or of one row. */
const INFLATED_LIMIT_BYTES = 256 * 1024 * 1024;
let inflatedBytes = 0;

// Only a script that asks for it gets compressed batches. A few bytes can stand for gigabytes.
compressionRegistry.set(CompressionType.ZSTD, {
  decode(data) {
    const bytes = zstdDecompressSync(data, { maxOutputLength: Math.max(1, INFLATED_LIMIT_BYTES - inflatedBytes) });
    inflatedBytes += bytes.length;
    return bytes;
  },
});

/** Text as Spark's command line shows it; with ^A between columns; RFC 4180; an array of objects; one IPC stream. */
export type ResultFormat = "text" | "raw" | "csv" | "json" | "arrow";

export interface RenderOptions {
  readonly format: ResultFormat;
  /** The columns' names first, in text and CSV. */
  readonly includeHeaders?: boolean;
  /** The bytes as they stand inside a JSON string. */
  readonly escaped?: boolean;
  /** Not of `arrow`. */
  readonly fromRow?: number;
  readonly rowLimit?: number;
}

export interface Chunk {
  /** Owned by whoever took it. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Without escapes. */
  readonly plainBytes: number;
  readonly isLast: boolean;
}

/** A result on its way into a format, a piece at a time. Between two pieces it may be told to hold nothing. */
export interface Rendering {
  next(): Chunk;
  /** How long the rest would be without escapes; makes and forgets it, and stops soon after `limit`. */
  countRest(limit: number): number;
  release(): void;
  close(): void;
}

const CHUNK_BYTES = 256 * 1024;
/** A row is written before anybody asks whether the chunk is full. */
const CHUNK_ROOM_BYTES = CHUNK_BYTES + 32 * 1024;

export function openRendering(spool: SpoolToRead, options: RenderOptions): Rendering {
  const reader = new SpoolReader(spool);
  try {
    return options.format === "arrow" ? new ArrowRendering(reader) : new RowRendering(reader, options);
  } catch (error) {
    reader.close();
    throw error;
  }
}

interface Place {
  /** 0: what stands before the rows is not written yet. */
  readonly record: number;
  /** Within the record. */
  readonly row: number;
  readonly rowsLeft: number;
  readonly isFirst: boolean;
}

class RowRendering implements Rendering {
  readonly #reader: SpoolReader;
  readonly #batches: BatchLoader;
  readonly #format: RowFormat;
  readonly #escaped: boolean;
  readonly #firstRow: number;
  #place: Place;
  #scratch: ByteSink | undefined;

  constructor(reader: SpoolReader, { format, includeHeaders = false, escaped = false, ...range }: RenderOptions) {
    this.#reader = reader;
    this.#batches = new BatchLoader(reader);
    const { schema } = this.#batches;
    if (format === "csv") this.#format = csvFormat(schema, { includeHeaders });
    else if (format === "json") this.#format = jsonFormat(schema);
    else this.#format = textFormat(schema, { includeHeaders, raw: format === "raw" });
    this.#escaped = escaped;
    this.#firstRow = Math.min(range.fromRow ?? 0, reader.rows);
    const rowsLeft = Math.min(range.rowLimit ?? Infinity, reader.rows - this.#firstRow);
    this.#place = { record: 0, row: 0, rowsLeft, isFirst: true };
  }

  next(): Chunk {
    const sink = new ByteSink(CHUNK_ROOM_BYTES);
    const isLast = this.#write(sink);
    if (!this.#escaped) return { bytes: sink.bytes.subarray(0, sink.at), plainBytes: sink.at, isLast };
    const escaped = (this.#scratch ??= new ByteSink(2 * CHUNK_ROOM_BYTES));
    escaped.at = 0;
    writeEscaped(escaped, sink.bytes, 0, sink.at);
    return { bytes: escaped.bytes.slice(0, escaped.at), plainBytes: sink.at, isLast };
  }

  countRest(limit: number): number {
    const here = this.#place;
    const sink = new ByteSink(CHUNK_ROOM_BYTES);
    let count = 0;
    for (let isLast = false; !isLast && count <= limit; count += sink.at) {
      sink.at = 0;
      isLast = this.#write(sink);
    }
    this.#place = here;
    return count;
  }

  release(): void {
    this.#batches.release();
    this.#scratch = undefined;
  }

  close(): void {
    this.#reader.close();
  }

  /** Fills the sink; true: that was the end. */
  #write(sink: ByteSink): boolean {
    if (this.#place.record === 0) this.#begin(sink);
    while (this.#place.rowsLeft > 0) {
      if (sink.at >= CHUNK_BYTES) return false;
      this.#writeRows(sink);
    }
    this.#format.end(sink, this.#place.isFirst);
    return true;
  }

  #begin(sink: ByteSink): void {
    this.#format.begin(sink);
    const record = this.#place.rowsLeft === 0 ? 1 : this.#reader.recordOfRow(this.#firstRow);
    this.#place = { ...this.#place, record, row: this.#firstRow - this.#reader.record(record - 1).rows };
  }

  /** Of one batch, or of a part of it. */
  #writeRows(sink: ByteSink): void {
    const { record, row, rowsLeft, isFirst } = this.#place;
    const { batch, firstRow, isNew } = this.#batches.batchAt(record, row);
    if (batch === undefined) {
      this.#place = { ...this.#place, record: record + 1, row: 0 };
      return;
    }
    if (isNew) this.#format.load(batch);
    const start = row - firstRow;
    const end = Math.min(batch.numRows, start + rowsLeft);
    let at = start;
    for (; at < end && sink.at < CHUNK_BYTES; at++) this.#format.row(sink, at, isFirst && at === start);
    this.#place = { record, row: firstRow + at, rowsLeft: rowsLeft - (at - start), isFirst: isFirst && at === start };
  }
}

interface BatchPlace {
  /** Undefined: the record has no such row. */
  readonly batch: RecordBatch | undefined;
  /** The batch's place within the record. */
  readonly firstRow: number;
  /** Not the one of the call before. */
  readonly isNew: boolean;
}

/** Holds the batches of one record, in a buffer that is used again and again. */
class BatchLoader {
  readonly schema;
  readonly #reader: SpoolReader;
  readonly #schemaBytes: Buffer;
  #buffer: Buffer | undefined;
  #record = 0;
  #loaded: RecordBatch[] = [];
  #last: RecordBatch | undefined;

  constructor(reader: SpoolReader) {
    this.#reader = reader;
    this.#schemaBytes = reader.read(0);
    this.schema = RecordBatchReader.from(Buffer.concat([this.#schemaBytes, END_OF_STREAM])).open().schema;
  }

  release(): void {
    this.#buffer = undefined;
    this.#record = 0;
    this.#loaded = [];
    this.#last = undefined;
  }

  batchAt(record: number, row: number): BatchPlace {
    if (record !== this.#record) this.#load(record);
    let firstRow = 0;
    for (const batch of this.#loaded) {
      if (row < firstRow + batch.numRows) {
        const isNew = this.#last !== batch;
        this.#last = batch;
        return { batch, firstRow, isNew };
      }
      firstRow += batch.numRows;
    }
    return { batch: undefined, firstRow, isNew: false };
  }

  #load(record: number): void {
    this.#record = 0;
    this.#last = undefined;
    const before = this.#schemaBytes.length;
    const length = this.#reader.record(record).end - this.#reader.record(record - 1).end;
    const needed = before + length + END_OF_STREAM.length;
    if (this.#buffer === undefined || this.#buffer.length < needed) {
      this.#buffer = Buffer.allocUnsafeSlow(Math.ceil(needed * 1.2));
      this.#schemaBytes.copy(this.#buffer);
    }
    this.#reader.read(record, this.#buffer.subarray(before));
    this.#buffer.set(END_OF_STREAM, before + length);
    inflatedBytes = 0;
    this.#loaded = [...RecordBatchReader.from(this.#buffer.subarray(0, needed))];
    this.#record = record;
  }
}

/** The spool is the stream already. */
class ArrowRendering implements Rendering {
  readonly #reader: SpoolReader;
  #record = 0;

  constructor(reader: SpoolReader) {
    this.#reader = reader;
  }

  next(): Chunk {
    const parts: Uint8Array[] = [];
    for (let size = 0; size < CHUNK_BYTES && this.#record < this.#reader.records; this.#record++) {
      const part = this.#reader.read(this.#record);
      parts.push(part);
      size += part.length;
    }
    const isLast = this.#record === this.#reader.records;
    if (isLast) parts.push(END_OF_STREAM);
    const bytes = joined(parts);
    return { bytes, plainBytes: bytes.length, isLast };
  }

  countRest(): number {
    const done = this.#record === 0 ? 0 : this.#reader.record(this.#record - 1).end;
    return this.#reader.record(this.#reader.records - 1).end + END_OF_STREAM.length - done;
  }

  release(): void {
    // Holds nothing.
  }

  close(): void {
    this.#reader.close();
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
