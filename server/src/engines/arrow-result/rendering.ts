import { zstdDecompressSync } from "node:zlib";
import { compressionRegistry, CompressionType, RecordBatchReader, type RecordBatch } from "apache-arrow";
import { ByteSink } from "./values/byte-sink.ts";
import { END_OF_STREAM } from "./ipc-stream.ts";
import { csvFormat, jsonFormat, textFormat, type RowFormat } from "./row-formats.ts";
import { SpoolReader, type SpoolToRead } from "./spool-reader.ts";
import { writeEscaped } from "./values/string-writers.ts";

/** Limit for the decompressed buffers of one record. Spark sends batches of 4 MiB, or larger ones with a single row. */
const INFLATED_LIMIT_BYTES = 256 * 1024 * 1024;
let inflatedBytes = 0;

// Batches are compressed only if a script enables that. A few compressed bytes can expand to gigabytes.
compressionRegistry.set(CompressionType.ZSTD, {
  decode(data) {
    const bytes = zstdDecompressSync(data, { maxOutputLength: Math.max(1, INFLATED_LIMIT_BYTES - inflatedBytes) });
    inflatedBytes += bytes.length;
    return bytes;
  },
});

/**
 * `text`: as Spark's command line prints it; `raw`: the same with ^A between columns; `csv`: RFC 4180; `json`: an array
 * of objects; `arrow`: an IPC stream.
 */
export type ResultFormat = "text" | "raw" | "csv" | "json" | "arrow";

export interface RenderOptions {
  readonly format: ResultFormat;
  /** Writes the column names first, in text and CSV. */
  readonly includeHeaders?: boolean;
  /** Escapes the output for use inside a JSON string. */
  readonly escaped?: boolean;
  /** Ignored by `arrow`, like `rowLimit`. */
  readonly fromRow?: number;
  readonly rowLimit?: number;
}

export interface Chunk {
  /** Owned by the caller, who may transfer the buffer. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The length before escaping. */
  readonly plainBytes: number;
  readonly isLast: boolean;
}

/** Renders a result chunk by chunk. */
export interface Rendering {
  next(): Chunk;
  /** Length of the rest before escaping. Renders and discards it, and stops soon after `limit`. */
  countRest(limit: number): number;
  /** Frees the buffers until the next call. */
  release(): void;
  close(): void;
}

const CHUNK_BYTES = 256 * 1024;
/** Leaves room for the row that fills the chunk, because rows are never split. */
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

interface Cursor {
  /** 0 means that the header is not written yet. */
  readonly record: number;
  /** Index within the record. */
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
  #cursor: Cursor;
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
    this.#cursor = { record: 0, row: 0, rowsLeft, isFirst: true };
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
    const here = this.#cursor;
    const sink = new ByteSink(CHUNK_ROOM_BYTES);
    let count = 0;
    for (let isLast = false; !isLast && count <= limit; count += sink.at) {
      sink.at = 0;
      isLast = this.#write(sink);
    }
    this.#cursor = here;
    return count;
  }

  release(): void {
    this.#batches.release();
    this.#scratch = undefined;
  }

  close(): void {
    this.#reader.close();
  }

  /** Fills the sink and returns whether the end was reached. */
  #write(sink: ByteSink): boolean {
    if (this.#cursor.record === 0) this.#begin(sink);
    while (this.#cursor.rowsLeft > 0) {
      if (sink.at >= CHUNK_BYTES) return false;
      this.#writeRows(sink);
    }
    this.#format.end(sink, this.#cursor.isFirst);
    return true;
  }

  #begin(sink: ByteSink): void {
    this.#format.begin(sink);
    const record = this.#cursor.rowsLeft === 0 ? 1 : this.#reader.recordOfRow(this.#firstRow);
    this.#cursor = { ...this.#cursor, record, row: this.#firstRow - this.#reader.record(record - 1).rows };
  }

  /** Writes rows of one batch until the batch or the chunk ends. */
  #writeRows(sink: ByteSink): void {
    const { record, row, rowsLeft, isFirst } = this.#cursor;
    const { batch, firstRow, isNew } = this.#batches.batchAt(record, row);
    if (batch === undefined) {
      this.#cursor = { ...this.#cursor, record: record + 1, row: 0 };
      return;
    }
    if (isNew) this.#format.load(batch);
    const start = row - firstRow;
    const end = Math.min(batch.numRows, start + rowsLeft);
    let at = start;
    for (; at < end && sink.at < CHUNK_BYTES; at++) this.#format.row(sink, at, isFirst && at === start);
    this.#cursor = { record, row: firstRow + at, rowsLeft: rowsLeft - (at - start), isFirst: isFirst && at === start };
  }
}

interface LocatedBatch {
  /** Undefined if the record has no such row. */
  readonly batch: RecordBatch | undefined;
  /** Index of the batch's first row within the record. */
  readonly firstRow: number;
  /** Whether it differs from the batch of the previous call. */
  readonly isNew: boolean;
}

/** Holds the batches of one record in a reusable buffer. */
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

  batchAt(record: number, row: number): LocatedBatch {
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

/** Copies the records, because the data file already is an IPC stream. */
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
    // Has no buffers.
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
