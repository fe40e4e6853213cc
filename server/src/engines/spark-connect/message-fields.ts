import { ScalarType } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

const MAX_VARINT_BYTES = 10;

/** By their numbers. */
const wireTypes: readonly WireType[] = [
  WireType.Varint,
  WireType.Bit64,
  WireType.LengthDelimited,
  WireType.StartGroup,
  WireType.EndGroup,
  WireType.Bit32,
];

/** How Spark writes the value of a field. Undefined: an enum. Other types do not occur in its responses. */
export function wireTypeOf(type: ScalarType | undefined): WireType {
  switch (type) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return WireType.LengthDelimited;
    case ScalarType.BOOL:
    case ScalarType.INT32:
    case ScalarType.INT64:
    case undefined:
      return WireType.Varint;
    default:
      throw new Error(`fields of type ${ScalarType[type]} cannot be checked`);
  }
}

/**
 * Walks through the fields of messages without creating objects. All positions are offsets in the bytes: a field starts
 * with its tag, and its value starts where the tag ends.
 */
export class MessageFields {
  readonly #bytes: Uint8Array;
  readonly #reader: BinaryReader;
  /** The number of the field that was visited last. */
  number = 0;
  wireType: WireType = WireType.Varint;
  /** Where the value of that field starts. */
  valueStart = 0;

  constructor(bytes: Uint8Array) {
    // Parts of a Buffer are slower.
    this.#bytes = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#reader = new BinaryReader(this.#bytes);
  }

  /** Visits the field at the position in a message that ends there, and returns the position after the field. */
  visit(position: number, messageEnd: number): number {
    const reader = this.#reader;
    reader.pos = position;
    const tag = reader.uint32();
    const wireType = wireTypes[tag & 7];
    this.number = tag >>> 3;
    if (this.number === 0 || wireType === undefined) throw new Error(`illegal tag ${tag}`);
    this.wireType = wireType;
    this.valueStart = reader.pos;
    const end = this.#end();
    if (end > messageEnd) throw new Error(`field ${this.number} is longer than its message`);
    return end;
  }

  /** Fails if the visited field is not of that type. A parser would continue at another byte. */
  expect(wireType: WireType): void {
    if (this.wireType !== wireType) throw new Error(`field ${this.number} has a wrong type`);
  }

  /** Goes into the message that starts there, and returns where it ends. */
  open(valueStart: number): number {
    this.#reader.pos = valueStart;
    const length = this.#reader.uint32();
    return this.#reader.pos + length;
  }

  /** Where the content of the message starts that was visited or opened last. */
  get contentStart(): number {
    return this.#reader.pos;
  }

  text(valueStart: number): string {
    this.#reader.pos = valueStart;
    return this.#reader.string(true);
  }

  integer(valueStart: number | undefined): number | undefined {
    if (valueStart === undefined) return undefined;
    this.#reader.pos = valueStart;
    return this.#reader.int32();
  }

  flag(valueStart: number | undefined): boolean {
    if (valueStart === undefined) return false;
    this.#reader.pos = valueStart;
    return this.#reader.bool();
  }

  #end(): number {
    const reader = this.#reader;
    switch (this.wireType) {
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
        throw new Error(`wire type ${this.wireType} is not used by Spark`);
    }
  }
}
