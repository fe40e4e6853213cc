import { DataType, DateUnit, IntervalUnit, Precision, TimeUnit, Type, type Field } from "apache-arrow";
import { zoneOffset } from "./time-zone.ts";
import {
  JsonMapWriter,
  ListWriter,
  NamedBytes,
  SortedMapWriter,
  StructWriter,
  VariantWriter,
} from "./nested-writers.ts";
import { writeDouble, writeFloat } from "./number-text.ts";
import {
  BooleanWriter,
  CalendarIntervalWriter,
  dateWriter,
  dayTimeWriter,
  DecimalWriter,
  doubleWriter,
  floatWriter,
  IntegerWriter,
  int64Writer,
  jsonFloatingWriter,
  QuotedWriter,
  timestampWriter,
  timeWriter,
  VoidWriter,
  yearMonthWriter,
} from "./scalar-writers.ts";
import { Base64Writer, StringWriter } from "./string-writers.ts";
import { CellWriter, type Style, type ValueWriter } from "./value-writer.ts";

/** Chooses the writer of a column. Covers every type that Spark 4.1 converts to Arrow. */
export function columnWriter(field: Field, style: Style, nullText = style === "text" ? "NULL" : "null"): CellWriter {
  const writer = DataType.isNull(field.type) ? new VoidWriter(nullText) : valueWriter(field, style);
  return new CellWriter(writer, nullText);
}

function valueWriter(field: Field, style: Style): ValueWriter {
  const writer = numericWriter(field, style) ?? nestedWriter(field, style);
  if (writer !== undefined) return writer;
  const type = field.type as DataType; // the library declares it as any
  if (DataType.isUtf8(type) || DataType.isLargeUtf8(type)) return new StringWriter(style, DataType.isLargeUtf8(type));
  if (DataType.isBinary(type) || DataType.isLargeBinary(type)) {
    const isLarge = DataType.isLargeBinary(type);
    return style === "json" ? new Base64Writer(isLarge) : new StringWriter("text", isLarge);
  }
  const temporal = temporalWriter(field);
  if (temporal === undefined) {
    throw new Error(`column ${field.name} has an unsupported Arrow type: ${Type[type.typeId]}`);
  }
  return style === "json" ? new QuotedWriter(temporal) : temporal;
}

function numericWriter({ type }: Field, style: Style): ValueWriter | undefined {
  if (DataType.isBool(type)) return new BooleanWriter();
  if (DataType.isInt(type) && type.isSigned) return type.bitWidth === 64 ? int64Writer() : new IntegerWriter();
  if (DataType.isDecimal(type) && type.bitWidth === 128) return new DecimalWriter(type.scale);
  if (!DataType.isFloat(type) || type.precision === Precision.HALF) return undefined;
  const isDouble = type.precision === Precision.DOUBLE;
  if (style === "json") return jsonFloatingWriter(isDouble ? writeDouble : writeFloat);
  return isDouble ? doubleWriter() : floatWriter();
}

function temporalWriter({ type }: Field): ValueWriter | undefined {
  if (DataType.isDate(type) && type.unit === DateUnit.DAY) return dateWriter();
  if (DataType.isTimestamp(type) && type.unit === TimeUnit.MICROSECOND) {
    const zone = type.timezone ?? "";
    return timestampWriter(zone === "" ? undefined : zoneOffset(zone));
  }
  if (DataType.isTime(type) && type.unit === TimeUnit.NANOSECOND) return timeWriter();
  if (DataType.isDuration(type) && type.unit === TimeUnit.MICROSECOND) return dayTimeWriter();
  if (!DataType.isInterval(type)) return undefined;
  if (type.unit === IntervalUnit.YEAR_MONTH) return yearMonthWriter();
  return type.unit === IntervalUnit.MONTH_DAY_NANO ? new CalendarIntervalWriter() : undefined;
}

function nestedWriter(field: Field, style: Style): ValueWriter | undefined {
  const inner = style === "json" ? "json" : "nested";
  const children = childrenOf(field);
  if (DataType.isList(field.type)) return new ListWriter(columnWriter(onlyChild(children), inner));
  if (DataType.isMap(field.type)) {
    const [key, value] = childrenOf(onlyChild(children));
    if (key === undefined || value === undefined) throw new Error(`the map column ${field.name} has no key and value`);
    return style === "json"
      ? new JsonMapWriter({ key: columnWriter(key, "text"), value: columnWriter(value, "json") })
      : new SortedMapWriter({ key: columnWriter(key, "nested"), value: columnWriter(value, "nested") });
  }
  if (!DataType.isStruct(field.type)) return undefined;
  return isVariant(children)
    ? new VariantWriter(
        new NamedBytes(children.map(({ name, type }) => ({ name, isLarge: DataType.isLargeBinary(type) }))),
      )
    : structWriter(children, inner);
}

function structWriter(children: readonly Field[], style: "nested" | "json"): ValueWriter {
  return new StructWriter(
    children.map((child) => ({
      name: style === "json" ? JSON.stringify(child.name) : `"${child.name}"`,
      cell: columnWriter(child, style),
    })),
  );
}

/** A struct encodes a variant if the metadata of a field says so. */
function isVariant(children: readonly Field[]): boolean {
  return children.some(({ name, metadata }) => name === "metadata" && metadata.get("variant") === "true");
}

function childrenOf({ type }: Field): readonly Field[] {
  const children: unknown = (type as { children?: unknown }).children; // the library does not declare which types have children
  return (children ?? []) as readonly Field[]; // the children of nested types are fields
}

function onlyChild(children: readonly Field[]): Field {
  const [child] = children;
  if (child === undefined) throw new Error("a nested column has no child");
  return child;
}
