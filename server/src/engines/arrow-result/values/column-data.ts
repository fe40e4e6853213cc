/** The buffers of a column in one batch, as the library finds them in the message. */
export interface ColumnData {
  readonly length: number;
  readonly nullCount: number;
  readonly nullBitmap: Uint8Array;
  /** Absent where the type has none. */
  readonly values: ArrayBufferView | undefined;
  readonly valueOffsets: ArrayBufferView | undefined;
  readonly children: readonly ColumnData[];
}

const NOTHING = new Uint8Array(0);

export function bytesOf(view: ArrayBufferView | undefined): Uint8Array {
  const { buffer, byteOffset, byteLength } = view ?? NOTHING;
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** Numbers of 64 bits are two of these, the lower half first. */
export function wordsOf(view: ArrayBufferView | undefined): Int32Array {
  const { buffer, byteOffset, byteLength } = view ?? NOTHING;
  return new Int32Array(buffer, byteOffset, byteLength / 4);
}

/** Where values of different lengths begin, and the last one ends; those of `large` types have 64 bits. */
export function offsetsOf({ valueOffsets, length }: ColumnData, isLarge: boolean): Int32Array {
  const words = wordsOf(valueOffsets);
  // Java leaves them out when there are no values at all.
  if (length === 0) return new Int32Array(1);
  if (!isLarge) return words;
  // A batch is smaller than the 2 GiB that the lower half can tell.
  return Int32Array.from({ length: length + 1 }, (_, i) => words[2 * i] ?? 0);
}
