/**
 * Parses all messages of Spark Connect servers, whose code is the tenants'. The parser creates an object for each of
 * millions of empty submessages, so the wire format is checked first: the check walks through the fields that the parser
 * reads, creates no objects, and skips all other fields.
 *
 * Only Arrow data and schemas may be large: the check jumps over them, and the parser takes them as a view of the
 * message. `read-schema.ts` has the limits of schemas.
 */
import { fromBinary, type DescField, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import { type ConnectError, toConnectError, unreadable } from "./connect-error.ts";
import { MessageFields, wireTypeOf } from "./message-fields.ts";
import { costOfSchema } from "./read-schema.ts";

const KIB = 1024;

/** Everything but the rows and the schema. The progress of a statement has six fields for each of its stages. */
const MAX_BYTES = 256 * KIB;
/** On the wire, including submessages. */
const MAX_FIELDS = 10_000;

const ARROW_DATA = "spark.connect.ExecutePlanResponse.ArrowBatch.data";
const SCHEMA = "spark.connect.ExecutePlanResponse.schema";
/** A batch with more than one row is smaller. */
const USUAL_BYTES = 4 * KIB * KIB;

export interface ReadMessage<M extends DescMessage> {
  readonly message: MessageShape<M>;
  /** The approximate cost in microseconds: for its submessages and its schema, and for each KiB beyond the size of Spark's messages. */
  readonly cost: number;
}

/** Fails with a `ConnectError` that names the limit. */
export function readMessage<M extends DescMessage>(type: M, bytes: Uint8Array): ReadMessage<M> {
  try {
    const cost = new MessageCheck(bytes).check(type) + Math.max(0, bytes.length - USUAL_BYTES) / KIB;
    return { message: fromBinary(type, bytes, { readUnknownFields: false }), cost };
  } catch (error) {
    throw toConnectError(error);
  }
}

class MessageCheck {
  readonly #size: number;
  readonly #fields: MessageFields;
  #count = 0;
  #bytes = 0;
  #cost = 0;

  constructor(bytes: Uint8Array) {
    this.#size = bytes.length;
    this.#fields = new MessageFields(bytes);
  }

  /** Returns about how many microseconds it takes to read the message. */
  check(type: DescMessage): number {
    this.#walk(fieldsOf(type), 0, this.#size);
    return this.#cost;
  }

  #walk(known: KnownFields, start: number, end: number): void {
    const fields = this.#fields;
    for (let at = start, next = start; at < end; at = next) {
      next = fields.visit(at, end);
      this.#count += 1;
      if (this.#count > MAX_FIELDS) throw tooLarge(`${MAX_FIELDS} fields`);
      const field = known.get(fields.number);
      if (field === undefined) continue;
      fields.expect(field.wireType);
      if (field.message !== undefined) {
        this.#cost += 1;
        this.#countBytes(fields.contentStart - at);
        this.#walk(field.message(), fields.contentStart, next);
      } else if (field.isSchema) this.#cost += costOfSchema(next - at);
      else if (!field.isRows) this.#countBytes(next - at);
    }
  }

  #countBytes(count: number): void {
    this.#bytes += count;
    if (this.#bytes > MAX_BYTES) throw tooLarge(`${MAX_BYTES / KIB} KiB`);
  }
}

function tooLarge(limit: string): ConnectError {
  return unreadable(`The Spark server sent a message of more than ${limit}`);
}

/** A field that the parser reads. */
interface KnownField {
  readonly wireType: WireType;
  readonly message?: () => KnownFields;
  readonly isRows?: boolean;
  readonly isSchema?: boolean;
}

type KnownFields = ReadonlyMap<number, KnownField>;

const knownFields = new WeakMap<DescMessage, KnownFields>();

function fieldsOf(type: DescMessage): KnownFields {
  const found = knownFields.get(type) ?? new Map(type.fields.map((field) => [field.number, knownField(field)]));
  knownFields.set(type, found);
  return found;
}

function knownField(field: DescField): KnownField {
  if (field.fieldKind === "map") {
    const entry = new Map([field.mapKey, field.scalar].map((of, at) => [at + 1, { wireType: wireTypeOf(of) }]));
    return { wireType: WireType.LengthDelimited, message: () => entry };
  }
  const { message, scalar } = field;
  if (message !== undefined) return { wireType: WireType.LengthDelimited, message: () => fieldsOf(message) };
  const name = `${field.parent.typeName}.${field.name}`;
  return { wireType: wireTypeOf(scalar), isRows: name === ARROW_DATA, isSchema: name === SCHEMA };
}
