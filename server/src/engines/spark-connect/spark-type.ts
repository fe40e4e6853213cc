import { unreadable } from "./connect-error.ts";
import type { DataType } from "./messages/types_pb.ts";

/** A column's type as Spark reports it. Arrow's own schema has less detail, such as no units of intervals. */
type SparkType =
  | { readonly kind: PlainKind }
  /** Without a collation, strings compare by their bytes. */
  | { readonly kind: "string"; readonly collation?: string }
  | { readonly kind: "char" | "varchar"; readonly length: number }
  | { readonly kind: "decimal"; readonly precision: number; readonly scale: number }
  | { readonly kind: "time"; readonly precision: number }
  | { readonly kind: "interval year month"; readonly from: YearMonthUnit; readonly to: YearMonthUnit }
  | { readonly kind: "interval day time"; readonly from: DayTimeUnit; readonly to: DayTimeUnit }
  | { readonly kind: "geometry" | "geography"; readonly srid: number }
  | { readonly kind: "array"; readonly element: SparkType; readonly containsNull: boolean }
  | { readonly kind: "map"; readonly key: SparkType; readonly value: SparkType; readonly valueContainsNull: boolean }
  | { readonly kind: "struct"; readonly fields: readonly SparkField[] }
  /** Its values are sent as those of `sqlType`. */
  | { readonly kind: "udt"; readonly name: string; readonly sqlType: SparkType | undefined };

export interface SparkField {
  readonly name: string;
  readonly type: SparkType;
  readonly nullable: boolean;
}

type PlainKind =
  | "void"
  | "boolean"
  | "tinyint"
  | "smallint"
  | "int"
  | "bigint"
  | "float"
  | "double"
  | "binary"
  | "date"
  | "timestamp"
  | "timestamp_ntz"
  /** A calendar interval: months, days and microseconds. */
  | "interval"
  | "variant";

type YearMonthUnit = "year" | "month";
type DayTimeUnit = "day" | "hour" | "minute" | "second";

/** As in Spark's `DESCRIBE`: `bigint`, `array<string>`, `struct<a:int>`, but never truncated. */
export function typeText(type: SparkType): string {
  switch (type.kind) {
    case "string":
      return type.collation === undefined ? "string" : `string collate ${type.collation}`;
    case "char":
    case "varchar":
      return `${type.kind}(${type.length})`;
    case "decimal":
      return `decimal(${type.precision},${type.scale})`;
    case "time":
      return `time(${type.precision})`;
    case "interval year month":
    case "interval day time":
      return type.from === type.to ? `interval ${type.from}` : `interval ${type.from} to ${type.to}`;
    case "geometry":
    case "geography":
      return `${type.kind}(${type.srid === -1 ? "any" : type.srid})`;
    case "array":
      return `array<${typeText(type.element)}>`;
    case "map":
      return `map<${typeText(type.key)},${typeText(type.value)}>`;
    case "struct":
      return `struct<${type.fields.map(({ name, type: of }) => `${name}:${typeText(of)}`).join(",")}>`;
    case "udt":
      return type.sqlType === undefined ? type.name : typeText(type.sqlType);
    default:
      return type.kind;
  }
}

type MessageKind = NonNullable<DataType["kind"]["case"]>;

const plainKinds: Partial<Record<MessageKind, PlainKind>> = {
  null: "void",
  boolean: "boolean",
  byte: "tinyint",
  short: "smallint",
  integer: "int",
  long: "bigint",
  float: "float",
  double: "double",
  binary: "binary",
  date: "date",
  timestamp: "timestamp",
  timestampNtz: "timestamp_ntz",
  calendarInterval: "interval",
  variant: "variant",
};

const yearMonthUnits: readonly YearMonthUnit[] = ["year", "month"];
const dayTimeUnits: readonly DayTimeUnit[] = ["day", "hour", "minute", "second"];

/** Spark's default collation, which is not shown. */
const PLAIN_COLLATION = "UTF8_BINARY";

export function fieldsOfSchema({ kind }: DataType): readonly SparkField[] {
  if (kind.case !== "struct") throw unreadable(`A result of type ${kind.case ?? "unknown"} has no columns`);
  return kind.value.fields.map(({ name, dataType, nullable }) => ({ name, type: typeOf(dataType), nullable }));
}

function typeOf(message: DataType | undefined): SparkType {
  const kind = message?.kind;
  switch (kind?.case) {
    case "string":
      return { kind: "string", ...(isPlain(kind.value.collation) ? {} : { collation: kind.value.collation }) };
    case "char":
      return { kind: "char", length: kind.value.length };
    case "varChar":
      return { kind: "varchar", length: kind.value.length };
    case "decimal":
      return { kind: "decimal", precision: kind.value.precision ?? 10, scale: kind.value.scale ?? 0 };
    case "time":
      return { kind: "time", precision: kind.value.precision ?? 6 };
    case "yearMonthInterval":
      return { kind: "interval year month", ...units(yearMonthUnits, kind.value) };
    case "dayTimeInterval":
      return { kind: "interval day time", ...units(dayTimeUnits, kind.value) };
    case "geometry":
    case "geography":
      return { kind: kind.case, srid: kind.value.srid };
    case "array":
      return { kind: "array", element: typeOf(kind.value.elementType), containsNull: kind.value.containsNull };
    case "map": {
      const { keyType, valueType, valueContainsNull } = kind.value;
      return { kind: "map", key: typeOf(keyType), value: typeOf(valueType), valueContainsNull };
    }
    case "struct":
      return { kind: "struct", fields: message === undefined ? [] : fieldsOfSchema(message) };
    case "udt": {
      const { jvmClass, pythonClass, sqlType } = kind.value;
      return { kind: "udt", name: jvmClass ?? pythonClass ?? "udt", sqlType: sqlType && typeOf(sqlType) };
    }
    default: {
      const plain = kind?.case === undefined ? undefined : plainKinds[kind.case];
      if (plain === undefined)
        throw unreadable(`The Spark server sent a column of an unknown type: ${kind?.case ?? "none"}`);
      return { kind: plain };
    }
  }
}

function isPlain(collation: string): boolean {
  return collation === "" || collation === PLAIN_COLLATION;
}

/** Spark omits the widest units. */
function units<U extends string>(
  all: readonly U[],
  { startField, endField }: { startField?: number | undefined; endField?: number | undefined },
): { from: U; to: U } {
  const [from, to] = [all[startField ?? 0], all[endField ?? all.length - 1]];
  if (from === undefined || to === undefined) {
    const sent = `${startField ?? 0} to ${endField ?? all.length - 1}`;
    throw unreadable(`The Spark server sent an interval with unknown units: ${sent}`);
  }
  return { from, to };
}
