import { type ScalarType, type StructType, type ThriftType, type ThriftValue, wireTag } from "./thrift-type.ts";

/** Writes a value according to its type; undefined fields are omitted. */
export function writeValue<T extends ThriftType>(sink: ByteSink, type: T, value: ThriftValue<T>): void {
  writeAny(sink, type, value);
}

/** Casts are safe, because `writeValue`, the only entry point, is typed. */
function writeAny(sink: ByteSink, type: ThriftType, value: unknown): void {
  switch (type.kind) {
    case "struct":
      writeStruct(sink, type, value as Readonly<Record<string, unknown>>);
      break;
    case "list": {
      const elements = value as readonly unknown[];
      sink.int8(wireTag[type.element.kind]);
      sink.int32(elements.length);
      for (const element of elements) writeAny(sink, type.element, element);
      break;
    }
    case "map": {
      const entries = value as ReadonlyMap<unknown, unknown>;
      sink.int8(wireTag[type.key.kind]);
      sink.int8(wireTag[type.value.kind]);
      sink.int32(entries.size);
      for (const [key, each] of entries) {
        writeAny(sink, type.key, key);
        writeAny(sink, type.value, each);
      }
      break;
    }
    default:
      writeScalar(sink, type, value);
  }
}

function writeStruct(sink: ByteSink, { fields }: StructType, values: Readonly<Record<string, unknown>>): void {
  for (const [name, { id, type }] of Object.entries(fields)) {
    const value = values[name];
    if (value === undefined) continue;
    sink.int8(wireTag[type.kind]);
    sink.int16(id);
    writeAny(sink, type, value);
  }
  sink.int8(wireTag.stop);
}

function writeScalar(sink: ByteSink, { kind }: ScalarType, value: unknown): void {
  switch (kind) {
    case "bool":
      return sink.int8(value === true ? 1 : 0);
    case "byte":
      return sink.int8(value as number);
    case "i16":
      return sink.int16(value as number);
    case "i32":
      return sink.int32(value as number);
    case "i64":
      return sink.int64(value as bigint);
    case "double":
      return sink.double(value as number);
    case "string":
      return sink.text(value as string);
  }
}

/** A growing buffer. */
export class ByteSink {
  #bytes = Buffer.allocUnsafe(1024);
  #at = 0;

  get written(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  int8(value: number): void {
    this.#at = this.#room(1).writeInt8(value, this.#at);
  }

  int16(value: number): void {
    this.#at = this.#room(2).writeInt16BE(value, this.#at);
  }

  int32(value: number): void {
    this.#at = this.#room(4).writeInt32BE(value, this.#at);
  }

  int64(value: bigint): void {
    this.#at = this.#room(8).writeBigInt64BE(value, this.#at);
  }

  double(value: number): void {
    this.#at = this.#room(8).writeDoubleBE(value, this.#at);
  }

  /** Writes the length before the text. */
  text(value: string): void {
    const length = Buffer.byteLength(value);
    this.int32(length);
    this.#at += this.#room(length).write(value, this.#at);
  }

  #room(count: number): Buffer {
    const needed = this.#at + count;
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2));
      this.#bytes.copy(larger, 0, 0, this.#at);
      this.#bytes = larger;
    }
    return this.#bytes;
  }
}
