/**
 * Reads the schema of a result from its bytes, because protobuf's parser would create three objects for each column. A
 * field that is sent several times counts towards the limits each time; its last value is used.
 *
 * A large schema takes tens of milliseconds. It is read in turns, and other requests are handled in between.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { WireType } from "@bufbuild/protobuf/wire";
import { type ConnectError, toConnectError, unreadable } from "./connect-error.ts";
import { MessageFields, wireTypeOf } from "./message-fields.ts";
import {
  DataType_StructFieldSchema,
  DataType_StructSchema,
  DataTypeSchema,
  type DataType,
} from "./messages/types_pb.ts";
import { dayTimeUnits, type SparkField, type SparkType, yearMonthUnits } from "./spark-type.ts";

const KIB = 1024;
/** Skipped fields, such as the metadata of columns, do not count. */
const MAX_BYTES = 2 * KIB * KIB;
/** Columns, fields of structs, elements of arrays, keys and values of maps. */
const MAX_FIELDS = 20_000;
const MAX_LEVELS = 100;
/** The protobuf fields of the whole message. Spark writes at most nine of them for each field of the schema. */
const MAX_WIRE_FIELDS = 10 * MAX_FIELDS;

/** Protobuf fields that are read in one turn, which takes about 200 microseconds. A column has at least four. */
const WIRE_FIELDS_PER_TURN = 1000;

/** Less than the nine bytes of the smallest column, so that the cost is never too low. */
const BYTES_PER_FIELD = 8;

/** The approximate cost, in microseconds, of reading a schema of this size and processing its columns. */
export function costOfSchema(bytes: number): number {
  return Math.min(bytes / BYTES_PER_FIELD, MAX_FIELDS);
}

/** Fails with a `ConnectError` that names the limit. */
export async function readSchema(bytes: Uint8Array): Promise<readonly SparkField[]> {
  try {
    const reading = new SchemaReader(bytes).read(0, bytes.length, 0);
    let turn = reading.next();
    for (; turn.done !== true; turn = reading.next()) await nextTurn();
    const type = turn.value;
    if (type.kind !== "struct") throw unreadable(`A result of type ${type.kind} has no columns`);
    return type.fields;
  } catch (error) {
    throw toConnectError(error);
  }
}

function tooLarge(limit: string): ConnectError {
  return unreadable(`The Spark server sent a schema of more than ${limit}`);
}

type Kind = NonNullable<DataType["kind"]["case"]>;

// These are the names of the fields of `kind`, from which the type is generated.
const kinds = new Map(DataTypeSchema.fields.map(({ number, localName }) => [number, localName as Kind]));

const plainTypes: Partial<Record<Kind, SparkType>> = {
  null: { kind: "void" },
  boolean: { kind: "boolean" },
  byte: { kind: "tinyint" },
  short: { kind: "smallint" },
  integer: { kind: "int" },
  long: { kind: "bigint" },
  float: { kind: "float" },
  double: { kind: "double" },
  binary: { kind: "binary" },
  date: { kind: "date" },
  timestamp: { kind: "timestamp" },
  timestampNtz: { kind: "timestamp_ntz" },
  calendarInterval: { kind: "interval" },
  variant: { kind: "variant" },
};

/** Spark's default collation, which is not shown. */
const PLAIN_COLLATION = "UTF8_BINARY";

interface WantedField {
  readonly number: number;
  readonly wireType: WireType;
}

function fieldsOf(kind: Kind, ...names: readonly string[]): readonly WantedField[] {
  return names.map((name) => {
    const field = DataTypeSchema.field[kind].message?.field[name];
    if (field === undefined) throw new Error(`Spark's type ${kind} has no field ${name}`);
    const { number, message, scalar } = field;
    return { number, wireType: message === undefined ? wireTypeOf(scalar) : WireType.LengthDelimited };
  });
}

const wanted = {
  string: fieldsOf("string", "collation"),
  char: fieldsOf("char", "length"),
  varChar: fieldsOf("varChar", "length"),
  decimal: fieldsOf("decimal", "precision", "scale"),
  time: fieldsOf("time", "precision"),
  yearMonthInterval: fieldsOf("yearMonthInterval", "startField", "endField"),
  dayTimeInterval: fieldsOf("dayTimeInterval", "startField", "endField"),
  array: fieldsOf("array", "elementType", "containsNull"),
  map: fieldsOf("map", "keyType", "valueType", "valueContainsNull"),
  udt: fieldsOf("udt", "jvmClass", "pythonClass", "sqlType"),
};

// Most of a schema consists of these.
const FIELDS = DataType_StructSchema.field.fields.number;
const NAME = DataType_StructFieldSchema.field.name.number;
const DATA_TYPE = DataType_StructFieldSchema.field.dataType.number;
const NULLABLE = DataType_StructFieldSchema.field.nullable.number;

/** Yields when other requests should get their turn. */
type Reading<T> = Generator<undefined, T, undefined>;

class SchemaReader {
  readonly #fields: MessageFields;
  #types = 0;
  #wireFields = 0;
  #byteCount = 0;
  #nextTurnAt = WIRE_FIELDS_PER_TURN;

  constructor(bytes: Uint8Array) {
    this.#fields = new MessageFields(bytes);
  }

  /** `level`: how many types enclose this one. */
  *read(start: number, end: number, level: number): Reading<SparkType> {
    this.#types += 1;
    // The whole result is a type, too.
    if (this.#types > MAX_FIELDS + 1) throw tooLarge(`${MAX_FIELDS} fields`);
    if (level > MAX_LEVELS) throw tooLarge(`${MAX_LEVELS} levels`);
    const fields = this.#fields;
    let kind: Kind | undefined;
    let valueStart = 0;
    for (let at = start; at < end;) {
      at = this.#visit(at, end);
      if (this.#isTurnOver()) yield;
      const found = kinds.get(fields.number);
      if (found === undefined) continue;
      fields.expect(WireType.LengthDelimited);
      kind = found;
      valueStart = fields.valueStart;
    }
    return yield* this.#typeOf(kind, valueStart, level);
  }

  *#typeOf(kind: Kind | undefined, message: number, level: number): Reading<SparkType> {
    switch (kind) {
      case "string": {
        const [collation] = yield* this.#find(message, wanted.string);
        const name = this.#text(collation) ?? "";
        return name === "" || name === PLAIN_COLLATION ? { kind } : { kind, collation: name };
      }
      case "char":
      case "varChar": {
        const [length] = yield* this.#find(message, wanted[kind]);
        return { kind: kind === "char" ? "char" : "varchar", length: this.#fields.integer(length) ?? 0 };
      }
      case "decimal": {
        const [precision, scale] = yield* this.#find(message, wanted.decimal);
        return { kind, precision: this.#fields.integer(precision) ?? 10, scale: this.#fields.integer(scale) ?? 0 };
      }
      case "time": {
        const [precision] = yield* this.#find(message, wanted.time);
        return { kind, precision: this.#fields.integer(precision) ?? 6 };
      }
      case "yearMonthInterval":
        return { kind: "interval year month", ...(yield* this.#units(message, wanted[kind], yearMonthUnits)) };
      case "dayTimeInterval":
        return { kind: "interval day time", ...(yield* this.#units(message, wanted[kind], dayTimeUnits)) };
      case "geometry":
      case "geography":
        throw unreadable(`Results cannot have columns of the type ${kind}: convert them with ST_AsBinary`);
      case "array": {
        const [element, containsNull] = yield* this.#find(message, wanted.array);
        return { kind, element: yield* this.#type(element, level), containsNull: this.#fields.flag(containsNull) };
      }
      case "map": {
        const [key, value, containsNull] = yield* this.#find(message, wanted.map);
        return {
          kind,
          key: yield* this.#type(key, level),
          value: yield* this.#type(value, level),
          valueContainsNull: this.#fields.flag(containsNull),
        };
      }
      case "struct":
        return { kind, fields: yield* this.#structFields(message, level) };
      case "udt": {
        const [jvmClass, pythonClass, sqlType] = yield* this.#find(message, wanted.udt);
        const name = this.#text(jvmClass ?? pythonClass) ?? "udt";
        return { kind, name, sqlType: sqlType === undefined ? undefined : yield* this.#type(sqlType, level) };
      }
      default: {
        const plain = kind === undefined ? undefined : plainTypes[kind];
        if (plain === undefined) {
          const name = kind === undefined ? "" : `: ${kind}`;
          throw unreadable(`The Spark server sent a column of a type that Headgate does not know${name}`);
        }
        return plain;
      }
    }
  }

  *#structFields(message: number, level: number): Reading<SparkField[]> {
    const fields = this.#fields;
    const found: SparkField[] = [];
    const end = fields.open(message);
    for (let at = fields.contentStart; at < end;) {
      at = this.#visit(at, end);
      if (this.#isTurnOver()) yield;
      if (fields.number !== FIELDS) continue;
      fields.expect(WireType.LengthDelimited);
      found.push(yield* this.#structField(fields.contentStart, at, level));
    }
    return found;
  }

  *#structField(start: number, end: number, level: number): Reading<SparkField> {
    const fields = this.#fields;
    let name: number | undefined;
    let type: number | undefined;
    let nullable: number | undefined;
    for (let at = start; at < end;) {
      at = this.#visit(at, end);
      if (this.#isTurnOver()) yield;
      if (fields.number === NAME) {
        fields.expect(WireType.LengthDelimited);
        name = fields.valueStart;
      } else if (fields.number === DATA_TYPE) {
        fields.expect(WireType.LengthDelimited);
        type = fields.valueStart;
      } else if (fields.number === NULLABLE) {
        fields.expect(WireType.Varint);
        nullable = fields.valueStart;
      }
    }
    return {
      name: this.#text(name) ?? "",
      type: yield* this.#type(type, level),
      nullable: this.#fields.flag(nullable),
    };
  }

  /** An absent field means the widest unit, which Spark omits. */
  *#units<U extends string>(
    message: number,
    fields: readonly WantedField[],
    all: readonly U[],
  ): Reading<{ from: U; to: U }> {
    const [startField, endField] = yield* this.#find(message, fields);
    const [start, end] = [this.#fields.integer(startField) ?? 0, this.#fields.integer(endField) ?? all.length - 1];
    const [from, to] = [all[start], all[end]];
    if (from === undefined || to === undefined) {
      throw unreadable(`The Spark server sent an interval with unknown units: ${start} to ${end}`);
    }
    return { from, to };
  }

  /** The values of the wanted fields of a message. Undefined: it was not sent. */
  *#find(message: number, wantedFields: readonly WantedField[]): Reading<(number | undefined)[]> {
    const fields = this.#fields;
    const found: (number | undefined)[] = [];
    const end = fields.open(message);
    for (let at = fields.contentStart; at < end;) {
      at = this.#visit(at, end);
      if (this.#isTurnOver()) yield;
      for (let index = 0; index < wantedFields.length; index += 1) {
        const field = wantedFields[index];
        if (field?.number !== fields.number) continue;
        fields.expect(field.wireType);
        found[index] = fields.valueStart;
      }
    }
    return found;
  }

  #visit(at: number, end: number): number {
    this.#wireFields += 1;
    if (this.#wireFields > MAX_WIRE_FIELDS) throw tooLarge(`${MAX_FIELDS} fields`);
    const next = this.#fields.visit(at, end);
    this.#countBytes(this.#fields.contentStart - at);
    return next;
  }

  #isTurnOver(): boolean {
    if (this.#wireFields < this.#nextTurnAt) return false;
    this.#nextTurnAt = this.#wireFields + WIRE_FIELDS_PER_TURN;
    return true;
  }

  #countBytes(count: number): void {
    this.#byteCount += count;
    if (this.#byteCount > MAX_BYTES) throw tooLarge(`${MAX_BYTES / KIB} KiB`);
  }

  *#type(message: number | undefined, level: number): Reading<SparkType> {
    if (message === undefined) return yield* this.#typeOf(undefined, 0, level);
    const end = this.#fields.open(message);
    return yield* this.read(this.#fields.contentStart, end, level + 1);
  }

  #text(at: number | undefined): string | undefined {
    if (at === undefined) return undefined;
    const end = this.#fields.open(at);
    this.#countBytes(end - this.#fields.contentStart);
    return this.#fields.text(at);
  }
}
