import type { ByteSink } from "./byte-sink.ts";

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

/** The buffers of a column in one batch, as apache-arrow exposes them. */
export interface ColumnData {
  readonly length: number;
  readonly nullCount: number;
  readonly nullBitmap: Uint8Array;
  /** Undefined for types without a value buffer. */
  readonly values: ArrayBufferView | undefined;
  readonly valueOffsets: ArrayBufferView | undefined;
  readonly children: readonly ColumnData[];
}

const NOTHING = new Uint8Array(0);

export function bytesOf(view: ArrayBufferView | undefined): Uint8Array {
  const { buffer, byteOffset, byteLength } = view ?? NOTHING;
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** A 64-bit number is two of these words, the lower half first. */
export function wordsOf(view: ArrayBufferView | undefined): Int32Array {
  const { buffer, byteOffset, byteLength } = view ?? NOTHING;
  return new Int32Array(buffer, byteOffset, byteLength / 4);
}

/** The start offsets of variable-length values and the end of the last one. Large types have 64-bit offsets. */
export function offsetsOf({ valueOffsets, length }: ColumnData, isLarge: boolean): Int32Array {
  const words = wordsOf(valueOffsets);
  // Java omits the offsets of an empty column.
  if (length === 0) return new Int32Array(1);
  if (!isLarge) return words;
  // A batch is smaller than 2 GiB, so the lower half is enough.
  return Int32Array.from({ length: length + 1 }, (_, i) => words[2 * i] ?? 0);
}
