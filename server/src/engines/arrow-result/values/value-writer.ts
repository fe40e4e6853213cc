import type { ByteSink } from "./byte-sink.ts";
import type { ColumnData } from "./column-data.ts";

/** Writes the values of one column. `load` must be called with the column's buffers of each batch. */
export interface ValueWriter {
  load(data: ColumnData): void;
  /** Must not be called for nulls. */
  write(sink: ByteSink, index: number): void;
}

/**
 * How a value is written:
 *
 * | | null | string | binary | dates, intervals | NaN |
 * |---|---|---|---|---|---|
 * | `text`: a column of Spark's command line | NULL | unchanged | as text | unquoted | unquoted |
 * | `nested`: the same inside an array, map or struct | null | in quotes, not escaped | as text | unquoted | unquoted |
 * | `json` | null | a JSON string | base64 | in quotes | in quotes |
 */
export type Style = "text" | "nested" | "json";

/** Writes values that may be null. */
export class CellWriter {
  readonly #writer: ValueWriter;
  readonly #nullText: string;
  #bits: Uint8Array | undefined;

  constructor(writer: ValueWriter, nullText: string) {
    this.#writer = writer;
    this.#nullText = nullText;
  }

  load(data: ColumnData): void {
    this.#bits = data.nullCount > 0 ? data.nullBitmap : undefined;
    this.#writer.load(data);
  }

  isNull(index: number): boolean {
    return this.#bits !== undefined && ((this.#bits[index >> 3] ?? 0) & (1 << (index & 7))) === 0;
  }

  write(sink: ByteSink, index: number): void {
    if (this.isNull(index)) sink.ascii(this.#nullText);
    else this.#writer.write(sink, index);
  }
}
