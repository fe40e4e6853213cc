/** A column's type as Spark reports it. Arrow's own schema has less detail, such as no units of intervals. */
export type SparkType =
  | { readonly kind: PlainKind }
  /** Without a collation, strings compare by their bytes. */
  | { readonly kind: "string"; readonly collation?: string }
  | { readonly kind: "char" | "varchar"; readonly length: number }
  | { readonly kind: "decimal"; readonly precision: number; readonly scale: number }
  | { readonly kind: "time"; readonly precision: number }
  | { readonly kind: "interval year month"; readonly from: YearMonthUnit; readonly to: YearMonthUnit }
  | { readonly kind: "interval day time"; readonly from: DayTimeUnit; readonly to: DayTimeUnit }
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

/** By their numbers in Spark. */
export const yearMonthUnits = ["year", "month"] as const;
export const dayTimeUnits = ["day", "hour", "minute", "second"] as const;
type YearMonthUnit = (typeof yearMonthUnits)[number];
type DayTimeUnit = (typeof dayTimeUnits)[number];

/** As in Spark's `DESCRIBE`: `bigint`, `array<string>`, `struct<a:int>`, but never truncated. */
export function typeText(type: SparkType): string {
  const parts: string[] = [];
  write(parts, type);
  return parts.join("");
}

/** Appends the pieces. Joining the text of each level would copy a long name once for each level. */
function write(parts: string[], ...pieces: readonly (string | SparkType)[]): void {
  for (const piece of pieces) {
    if (typeof piece === "string") parts.push(piece);
    else writeType(parts, piece);
  }
}

function writeType(parts: string[], type: SparkType): void {
  switch (type.kind) {
    case "array":
      return write(parts, "array<", type.element, ">");
    case "map":
      return write(parts, "map<", type.key, ",", type.value, ">");
    case "struct":
      write(parts, "struct<");
      for (const [index, { name, type: of }] of type.fields.entries())
        write(parts, index === 0 ? "" : ",", name, ":", of);
      return write(parts, ">");
    case "udt":
      return write(parts, type.sqlType ?? type.name);
    default:
      return write(parts, plainText(type));
  }
}

/** The text of a type that contains no other type. */
function plainText(type: Exclude<SparkType, { kind: "array" | "map" | "struct" | "udt" }>): string {
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
    default:
      return type.kind;
  }
}
