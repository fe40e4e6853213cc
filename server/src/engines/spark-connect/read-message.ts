/**
 * Parses all messages of Spark Connect servers, whose code is the tenants'. The parser creates an object for each of
 * millions of empty submessages, so the wire format is checked first: the check walks along the fields that the parser
 * reads, creates nothing, and skips all other fields.
 *
 * Only Arrow data may be large: the check jumps over it, and the parser takes it as a view of the message.
 */
import { fromBinary, ScalarType, type DescField, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { ConnectError, unreadable } from "./connect-error.ts";
import { DataTypeSchema } from "./messages/types_pb.ts";

const KIB = 1024;

interface Limits {
  readonly of: string;
  readonly bytes: number;
  readonly fields: number;
  /** Fields on the wire, including submessages. */
  readonly parts: number;
  readonly submessages: number;
}

/** Everything but the rows and the schema. The progress of a statement has six fields for each of its stages. */
const MESSAGE: Limits = { of: "a message", bytes: 256 * KIB, fields: 10_000, parts: 10_000, submessages: 10_000 };

/** Columns, fields of structs, elements of arrays, keys and values of maps. */
const MAX_FIELDS = 20_000;
const MAX_LEVELS = 100;
/** Spark writes at most nine parts for a field of the schema, three of them submessages. */
const SCHEMA: Limits = {
  of: "a schema",
  bytes: 2 * KIB * KIB,
  fields: MAX_FIELDS,
  parts: 10 * MAX_FIELDS,
  submessages: 3 * MAX_FIELDS + 2,
};
/** The parser counts the messages of a field: its own, that of its type and that of the kind of its type. */
const RECURSION_LIMIT = 4 * MAX_LEVELS;

const ARROW_DATA = "spark.connect.ExecutePlanResponse.ArrowBatch.data";
const MAX_VARINT_BYTES = 10;
/** A batch with more than one row is smaller. */
const USUAL_BYTES = 4 * KIB * KIB;

export interface ReadMessage<M extends DescMessage> {
  readonly message: MessageShape<M>;
  /** About microseconds: one for each submessage, and for each KiB of a message that is larger than Spark's are. */
  readonly cost: number;
}

/** Fails with a `ConnectError` that names the limit. */
export function readMessage<M extends DescMessage>(type: M, bytes: Uint8Array): ReadMessage<M> {
  try {
    const submessages = new MessageCheck(bytes).check(type);
    const cost = submessages + Math.max(0, bytes.length - USUAL_BYTES) / KIB;
    const options = { readUnknownFields: false, recursionLimit: RECURSION_LIMIT };
    return { message: fromBinary(type, bytes, options), cost };
  } catch (error) {
    if (error instanceof ConnectError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw unreadable(`The Spark server sent a message that cannot be read: ${reason}`);
  }
}

class Budget {
  readonly #limits: Limits;
  #bytes = 0;
  #parts = 0;
  submessages = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  part(): void {
    this.#parts += 1;
    if (this.#parts > this.#limits.parts) this.#refuse(`${this.#limits.fields} fields`);
  }

  submessage(): void {
    this.submessages += 1;
    if (this.submessages > this.#limits.submessages) this.#refuse(`${this.#limits.fields} fields`);
  }

  bytes(count: number): void {
    this.#bytes += count;
    if (this.#bytes > this.#limits.bytes) this.#refuse(`${this.#limits.bytes / KIB} KiB`);
  }

  #refuse(limit: string): never {
    throw unreadable(`The Spark server sent ${this.#limits.of} of more than ${limit}`);
  }
}

class MessageCheck {
  readonly #bytes: Uint8Array;
  readonly #reader: BinaryReader;
  readonly #message = new Budget(MESSAGE);
  readonly #schema = new Budget(SCHEMA);
  #types = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#reader = new BinaryReader(bytes);
  }

  /** Returns the number of submessages. */
  check(type: DescMessage): number {
    this.#walk(fieldsOf(type), this.#bytes.length, this.#message, 0);
    return this.#message.submessages + this.#schema.submessages;
  }

  /** `level`: how many types of the schema are around it. Other messages do not nest. */
  #walk(fields: KnownFields, end: number, budget: Budget, level: number): void {
    const reader = this.#reader;
    while (reader.pos < end) {
      const start = reader.pos;
      const [number, wireType] = reader.tag();
      budget.part();
      const field = fields.get(number);
      // The parser reads a field by its own type and would continue at another byte than this check.
      if (field !== undefined && field.wireType !== wireType) throw new Error(`field ${number} has a wrong type`);
      const fieldEnd = this.#endOf(wireType);
      if (fieldEnd > end) throw new Error(`field ${number} is longer than its message`);
      if (field?.message !== undefined) {
        const inner = field.isType ? this.#schema : budget;
        inner.bytes(reader.pos - start);
        inner.submessage();
        if (field.isType) this.#enterType(level + 1);
        this.#walk(field.message(), fieldEnd, inner, field.isType ? level + 1 : level);
      } else if (field?.isLarge === false) budget.bytes(fieldEnd - start);
      reader.pos = fieldEnd;
    }
  }

  #enterType(level: number): void {
    this.#types += 1;
    // The whole result is a type, too.
    if (this.#types > MAX_FIELDS + 1)
      throw unreadable(`The Spark server sent a schema of more than ${MAX_FIELDS} fields`);
    if (level > MAX_LEVELS + 1) throw unreadable(`The Spark server sent a schema of more than ${MAX_LEVELS} levels`);
  }

  #endOf(wireType: WireType): number {
    const reader = this.#reader;
    switch (wireType) {
      case WireType.LengthDelimited: {
        const length = reader.uint32();
        return reader.pos + length;
      }
      case WireType.Varint: {
        const last = reader.pos + MAX_VARINT_BYTES;
        for (let at = reader.pos; at < last; at += 1) if (((this.#bytes[at] ?? 0) & 0x80) === 0) return at + 1;
        throw new Error("a number has too many bytes");
      }
      case WireType.Bit32:
        return reader.pos + 4;
      case WireType.Bit64:
        return reader.pos + 8;
      default:
        throw new Error(`wire type ${wireType} is not used by Spark`);
    }
  }
}

/** A field that the parser reads. */
interface KnownField {
  readonly wireType: WireType;
  readonly message?: () => KnownFields;
  /** Whether it is a type of the schema. */
  readonly isType?: boolean;
  readonly isLarge: boolean;
}

type KnownFields = ReadonlyMap<number, KnownField>;

const knownFields = new WeakMap<DescMessage, KnownFields>();

function fieldsOf(type: DescMessage): KnownFields {
  const found = knownFields.get(type) ?? new Map(type.fields.map((field) => [field.number, knownField(field)]));
  knownFields.set(type, found);
  return found;
}

function knownField(field: DescField): KnownField {
  const wireType = WireType.LengthDelimited;
  if (field.fieldKind === "map") {
    const entry = new Map([field.mapKey, field.scalar].map((of, at) => [at + 1, scalarField(of)]));
    return { wireType, message: () => entry, isLarge: false };
  }
  const { message } = field;
  if (message !== undefined) {
    return { wireType, message: () => fieldsOf(message), isType: message === DataTypeSchema, isLarge: false };
  }
  const isLarge = `${field.parent.typeName}.${field.name}` === ARROW_DATA;
  return { ...scalarField(field.scalar), isLarge };
}

/** Undefined: an enum. Other types do not occur in Spark's responses. */
function scalarField(type: ScalarType | undefined): KnownField {
  switch (type) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return { wireType: WireType.LengthDelimited, isLarge: false };
    case ScalarType.BOOL:
    case ScalarType.INT32:
    case ScalarType.INT64:
    case undefined:
      return { wireType: WireType.Varint, isLarge: false };
    default:
      throw new Error(`fields of type ${ScalarType[type]} cannot be checked`);
  }
}
