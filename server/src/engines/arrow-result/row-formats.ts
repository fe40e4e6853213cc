import { Type, type Field, type RecordBatch, type Schema } from "apache-arrow";
import type { ByteSink } from "./values/byte-sink.ts";
import type { ColumnData, CellWriter } from "./values/value-writer.ts";
import { columnWriter } from "./values/column-writers.ts";

/** Writes rows and everything around their values. `load` must be called with each batch before its rows are written. */
export interface RowFormat {
  begin(sink: ByteSink): void;
  load(batch: RecordBatch): void;
  row(sink: ByteSink, index: number, isFirst: boolean): void;
  end(sink: ByteSink, isEmpty: boolean): void;
}

const [TAB, CONTROL_A, COMMA, QUOTE] = [0x09, 0x01, 0x2c, 0x22];
const [CR, LF] = [0x0d, 0x0a];

export interface TextOptions {
  /** Writes the column names first. */
  readonly includeHeaders: boolean;
  /** Separates columns by ^A instead of a tab. */
  readonly raw: boolean;
}

/** As Spark's command line prints it, but with CR LF after each row. */
export function textFormat(schema: Schema, { includeHeaders, raw }: TextOptions): RowFormat {
  const separator = raw ? CONTROL_A : TAB;
  const cells = schema.fields.map((field) => columnWriter(field, "text"));
  return {
    ...baseFormat(cells),
    begin(sink) {
      if (!includeHeaders) return;
      sink.text(schema.fields.map(({ name }) => name).join(String.fromCharCode(separator)));
      endLine(sink);
    },
    row(sink, index) {
      for (let i = 0; i < cells.length; i++) {
        if (i > 0) sink.byte(separator);
        cells[i]?.write(sink, index);
      }
      endLine(sink);
    },
  };
}

/** RFC 4180. A null is an empty field; an empty string is `""`. */
export function csvFormat(schema: Schema, { includeHeaders }: Pick<TextOptions, "includeHeaders">): RowFormat {
  const cells = schema.fields.map((field) => columnWriter(field, "text", ""));
  const mayNeedQuotes = schema.fields.map(holdsText);
  return {
    ...baseFormat(cells),
    begin(sink) {
      if (!includeHeaders) return;
      schema.fields.forEach(({ name }, i) => {
        if (i > 0) sink.byte(COMMA);
        const from = sink.at;
        sink.text(name);
        quoteIfNeeded(sink, from);
      });
      endLine(sink);
    },
    row(sink, index) {
      for (let i = 0; i < cells.length; i++) {
        if (i > 0) sink.byte(COMMA);
        const from = sink.at;
        cells[i]?.write(sink, index);
        if (mayNeedQuotes[i] === true && cells[i]?.isNull(index) === false) quoteIfNeeded(sink, from);
      }
      endLine(sink);
    },
  };
}

/** An array of objects, one per line. */
export function jsonFormat(schema: Schema): RowFormat {
  const cells = schema.fields.map((field) => columnWriter(field, "json"));
  const labels = schema.fields.map(({ name }, i) => Buffer.from(`${i === 0 ? "{" : ","}${JSON.stringify(name)}:`));
  return {
    ...baseFormat(cells),
    begin: (sink) => sink.ascii("["),
    row(sink, index, isFirst) {
      sink.ascii(isFirst ? "\n" : ",\n");
      for (let i = 0; i < cells.length; i++) {
        const label = labels[i];
        if (label !== undefined) sink.copy(label, 0, label.length);
        cells[i]?.write(sink, index);
      }
      sink.ascii("}");
    },
    end: (sink, isEmpty) => sink.ascii(isEmpty ? "]\n" : "\n]\n"),
  };
}

function baseFormat(cells: readonly CellWriter[]): Pick<RowFormat, "load" | "end"> {
  return {
    load({ data }) {
      const columns: readonly ColumnData[] = data.children;
      cells.forEach((cell, i) => {
        const column = columns[i];
        if (column === undefined) throw new Error("a batch has fewer columns than its schema");
        cell.load(column);
      });
    },
    end: () => undefined,
  };
}

function endLine(sink: ByteSink): void {
  sink.reserve(2);
  sink.bytes[sink.at++] = CR;
  sink.bytes[sink.at++] = LF;
}

const TEXTUAL: ReadonlySet<Type> = new Set([
  Type.Utf8,
  Type.LargeUtf8,
  Type.Binary,
  Type.LargeBinary,
  Type.List,
  Type.Map,
  Type.Struct,
]);

function holdsText({ typeId }: Field): boolean {
  return TEXTUAL.has(typeId);
}

function quoteIfNeeded(sink: ByteSink, from: number): void {
  const { bytes, at } = sink;
  let isPlain = at > from;
  for (let i = from; i < at && isPlain; i++) {
    const byte = bytes[i];
    isPlain = byte !== COMMA && byte !== QUOTE && byte !== CR && byte !== LF;
  }
  if (isPlain) return;
  const field = bytes.slice(from, at);
  sink.at = from;
  sink.reserve(2 * field.length + 2);
  sink.byte(QUOTE);
  for (const byte of field) {
    if (byte === QUOTE) sink.byte(QUOTE);
    sink.byte(byte);
  }
  sink.byte(QUOTE);
}
