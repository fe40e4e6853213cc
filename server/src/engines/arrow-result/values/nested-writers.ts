import { COLON, QUOTE } from "./ascii.ts";
import { ByteSink } from "./byte-sink.ts";
import { offsetsOf, type ColumnData, type CellWriter, type ValueWriter } from "./value-writer.ts";
import { BytesReader, writeEscaped } from "./string-writers.ts";
import { variantJson } from "./variant-json.ts";

const COMMA = 0x2c;
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Writes `[1,2]`, in every style. */
export class ListWriter implements ValueWriter {
  readonly #element: CellWriter;
  #offsets: Int32Array = new Int32Array(1);

  constructor(element: CellWriter) {
    this.#element = element;
  }

  load(data: ColumnData): void {
    this.#offsets = offsetsOf(data, false);
    this.#element.load(childOf(data, 0));
  }

  write(sink: ByteSink, index: number): void {
    const [start, end] = [this.#offsets[index] ?? 0, this.#offsets[index + 1] ?? 0];
    sink.byte(OPEN_LIST);
    for (let i = start; i < end; i++) {
      if (i > start) sink.byte(COMMA);
      this.#element.write(sink, i);
    }
    sink.byte(CLOSE_LIST);
  }
}

/** Writes `{"a":1}`. The given names include their quotes. */
export class StructWriter implements ValueWriter {
  readonly #fields: readonly { readonly label: Buffer; readonly cell: CellWriter }[];

  constructor(fields: readonly { readonly name: string; readonly cell: CellWriter }[]) {
    this.#fields = fields.map(({ name, cell }, i) => ({ label: Buffer.from(`${i === 0 ? "" : ","}${name}:`), cell }));
  }

  load(data: ColumnData): void {
    this.#fields.forEach(({ cell }, i) => cell.load(childOf(data, i)));
  }

  write(sink: ByteSink, index: number): void {
    sink.byte(OPEN_OBJECT);
    for (const { label, cell } of this.#fields) {
      sink.copy(label, 0, label.length);
      cell.write(sink, index);
    }
    sink.byte(CLOSE_OBJECT);
  }
}

interface KeyAndValue {
  readonly key: CellWriter;
  readonly value: CellWriter;
}

abstract class MapWriter implements ValueWriter {
  protected readonly entry: KeyAndValue;
  protected readonly scratch = new ByteSink(256);
  protected offsets: Int32Array = new Int32Array(1);

  constructor(entry: KeyAndValue) {
    this.entry = entry;
  }

  load(data: ColumnData): void {
    this.offsets = offsetsOf(data, false);
    loadEntry(this.entry, data);
  }

  abstract write(sink: ByteSink, index: number): void;
}

/** Writes `{1:"a",2:"b"}`. Spark's command line sorts the entries by their text. */
export class SortedMapWriter extends MapWriter {
  override write(sink: ByteSink, index: number): void {
    const entries: string[] = [];
    for (let i = this.offsets[index] ?? 0; i < (this.offsets[index + 1] ?? 0); i++) {
      this.scratch.at = 0;
      this.entry.key.write(this.scratch, i);
      this.scratch.byte(COLON);
      this.entry.value.write(this.scratch, i);
      entries.push(this.scratch.toText(0));
    }
    sink.text(`{${entries.sort().join(",")}}`);
  }
}

/** Writes `{"1":"a"}`, because JSON keys are strings. */
export class JsonMapWriter extends MapWriter {
  override write(sink: ByteSink, index: number): void {
    const [start, end] = [this.offsets[index] ?? 0, this.offsets[index + 1] ?? 0];
    sink.byte(OPEN_OBJECT);
    for (let i = start; i < end; i++) {
      if (i > start) sink.byte(COMMA);
      this.scratch.at = 0;
      this.entry.key.write(this.scratch, i);
      sink.byte(QUOTE);
      writeEscaped(sink, this.scratch.bytes, 0, this.scratch.at);
      sink.byte(QUOTE);
      sink.byte(COLON);
      this.entry.value.write(sink, i);
    }
    sink.byte(CLOSE_OBJECT);
  }
}

/** Writes JSON, in every style. */
export class VariantWriter implements ValueWriter {
  readonly #parts: NamedBytes;

  constructor(parts: NamedBytes) {
    this.#parts = parts;
  }

  load(data: ColumnData): void {
    this.#parts.load(data);
  }

  write(sink: ByteSink, index: number): void {
    sink.text(variantJson(this.#parts.at("value", index), this.#parts.at("metadata", index)));
  }
}

/** The binary fields of a struct, by name. */
export class NamedBytes {
  readonly #fields: ReadonlyMap<string, { readonly index: number; readonly bytes: BytesReader }>;

  constructor(fields: readonly { readonly name: string; readonly isLarge: boolean }[]) {
    this.#fields = new Map(
      fields.map(({ name, isLarge }, index) => [name, { index, bytes: new BytesReader(isLarge) }]),
    );
  }

  load(data: ColumnData): void {
    for (const { index, bytes } of this.#fields.values()) bytes.load(childOf(data, index));
  }

  at(name: string, index: number): Uint8Array {
    return this.#fields.get(name)?.bytes.at(index) ?? new Uint8Array(0);
  }
}

function loadEntry({ key, value }: KeyAndValue, data: ColumnData): void {
  const entries = childOf(data, 0);
  key.load(childOf(entries, 0));
  value.load(childOf(entries, 1));
}

function childOf({ children }: ColumnData, index: number): ColumnData {
  const child = children[index];
  if (child === undefined) throw new Error("a nested column has fewer children than its type");
  return child;
}
