import { QUOTE } from "./ascii.ts";
import type { ByteSink } from "./byte-sink.ts";
import { writeDate, writeTime, writeTimestamp, type ZoneOffset } from "./calendar-text.ts";
import { writeDecimal } from "./decimal-text.ts";
import { calendarIntervalText, writeDayTime, writeYearMonth } from "./interval-text.ts";
import { toBigInt, writeDouble, writeFloat, writeInt64, writeInteger } from "./number-text.ts";
import { bytesOf, wordsOf, type ColumnData, type ValueWriter } from "./value-writer.ts";

/** Every value of a void column is null. */
export class VoidWriter implements ValueWriter {
  readonly #nullText: string;

  constructor(nullText: string) {
    this.#nullText = nullText;
  }

  load(): void {
    // There are no buffers.
  }

  write(sink: ByteSink): void {
    sink.ascii(this.#nullText);
  }
}

export class BooleanWriter implements ValueWriter {
  #bits: Uint8Array = new Uint8Array(0);

  load({ values }: ColumnData): void {
    this.#bits = bytesOf(values);
  }

  write(sink: ByteSink, index: number): void {
    sink.ascii(((this.#bits[index >> 3] ?? 0) & (1 << (index & 7))) === 0 ? "false" : "true");
  }
}

type Integers = Int8Array | Int16Array | Int32Array;

/** Integers of 8, 16 or 32 bits. */
export class IntegerWriter implements ValueWriter {
  #values: Integers = new Int32Array(0);

  load({ values }: ColumnData): void {
    this.#values = values as Integers; // the column's type decides
  }

  write(sink: ByteSink, index: number): void {
    writeInteger(sink, this.#values[index] ?? 0);
  }
}

/** Doubles, floats, days and months: values that are JavaScript numbers. */
class NumberWriter implements ValueWriter {
  readonly #write: (sink: ByteSink, value: number) => void;
  #values: ArrayLike<number> = [];

  constructor(write: (sink: ByteSink, value: number) => void) {
    this.#write = write;
  }

  load({ values }: ColumnData): void {
    this.#values = values as Float64Array | Float32Array | Int32Array; // the column's type decides
  }

  write(sink: ByteSink, index: number): void {
    this.#write(sink, this.#values[index] ?? 0);
  }
}

/** 64-bit values, written as two halves. */
class WideWriter implements ValueWriter {
  readonly #write: (sink: ByteSink, low: number, high: number) => void;
  #words: Int32Array = new Int32Array(0);

  constructor(write: (sink: ByteSink, low: number, high: number) => void) {
    this.#write = write;
  }

  load({ values }: ColumnData): void {
    this.#words = wordsOf(values);
  }

  write(sink: ByteSink, index: number): void {
    this.#write(sink, this.#words[index * 2] ?? 0, this.#words[index * 2 + 1] ?? 0);
  }
}

export class DecimalWriter implements ValueWriter {
  readonly #scale: number;
  #words: Int32Array = new Int32Array(0);

  constructor(scale: number) {
    this.#scale = scale;
  }

  load({ values }: ColumnData): void {
    this.#words = wordsOf(values);
  }

  write(sink: ByteSink, index: number): void {
    writeDecimal(sink, this.#words, index, this.#scale);
  }
}

/** Arrow's interval has nanoseconds, Spark's has microseconds. */
export class CalendarIntervalWriter implements ValueWriter {
  #words: Int32Array = new Int32Array(0);

  load({ values }: ColumnData): void {
    this.#words = wordsOf(values);
  }

  write(sink: ByteSink, index: number): void {
    const [months = 0, days = 0, low = 0, high = 0] = this.#words.subarray(index * 4, index * 4 + 4);
    sink.ascii(calendarIntervalText(months, days, toBigInt(low, high) / 1000n));
  }
}

/** Puts quotes around values that are strings in JSON and need no escapes. */
export class QuotedWriter implements ValueWriter {
  readonly #inner: ValueWriter;

  constructor(inner: ValueWriter) {
    this.#inner = inner;
  }

  load(data: ColumnData): void {
    this.#inner.load(data);
  }

  write(sink: ByteSink, index: number): void {
    sink.byte(QUOTE);
    this.#inner.write(sink, index);
    sink.byte(QUOTE);
  }
}

export const int64Writer = (): ValueWriter => new WideWriter(writeInt64);
export const doubleWriter = (): ValueWriter => new NumberWriter(writeDouble);
export const floatWriter = (): ValueWriter => new NumberWriter(writeFloat);
export const dateWriter = (): ValueWriter => new NumberWriter(writeDate);
export const timeWriter = (): ValueWriter => new WideWriter(writeTime);
export const yearMonthWriter = (): ValueWriter => new NumberWriter(writeYearMonth);
export const dayTimeWriter = (): ValueWriter => new WideWriter(writeDayTime);
export const timestampWriter = (offsetAt: ZoneOffset | undefined): ValueWriter =>
  new WideWriter((sink, low, high) => writeTimestamp(sink, low, high, offsetAt));

/** Writes NaN and infinity as strings, because JSON has no such numbers. */
export const jsonFloatingWriter = (write: (sink: ByteSink, value: number) => void): ValueWriter =>
  new NumberWriter((sink, value) => {
    if (Number.isFinite(value)) write(sink, value);
    else sink.ascii(`"${value}"`);
  });
