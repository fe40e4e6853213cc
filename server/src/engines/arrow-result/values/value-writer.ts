import type { ByteSink } from "./byte-sink.ts";
import type { ColumnData } from "./column-data.ts";

/** Writes the values of one column. It is told the column's buffers once for each batch. */
export interface ValueWriter {
  load(data: ColumnData): void;
  /** The value is not null. */
  write(sink: ByteSink, index: number): void;
}

/**
 * How a value is written:
 *
 * | | null | string | binary | dates, intervals | NaN |
 * |---|---|---|---|---|---|
 * | `text`: a column of Spark's command line | NULL | as it is | as text | as they are | as it is |
 * | `nested`: inside an array, map or struct there | null | in quotes, not escaped | as text | as they are | as it is |
 * | `json` | null | a JSON string | base64 | in quotes | in quotes |
 */
export type Style = "text" | "nested" | "json";

/** One that may be null. */
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
