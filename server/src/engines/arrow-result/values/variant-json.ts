import { ByteSink } from "./byte-sink.ts";
import { writeDate, writeTimestamp } from "./calendar-text.ts";
import { decimalText } from "./decimal-text.ts";
import { writeDouble, writeFloat } from "./number-text.ts";

/**
 * Converts a variant to JSON as Spark prints it, with times in UTC. The two lowest bits of a value's first byte are its
 * basic type, the other six depend on that type. The keys of objects are in the metadata.
 */
export function variantJson(value: Uint8Array, metadata: Uint8Array): string {
  const view = (bytes: Uint8Array): Bytes => new Bytes(bytes);
  return jsonAt({ value: view(value), keys: view(metadata) }, 0, 0);
}

interface Variant {
  readonly value: Bytes;
  readonly keys: Bytes;
}

const MAX_DEPTH = 1000;

function jsonAt(variant: Variant, at: number, depth: number): string {
  if (depth > MAX_DEPTH) throw new Error(`a variant is nested more than ${MAX_DEPTH} levels deep`);
  const head = variant.value.unsigned(at, 1);
  const info = head >> 2;
  switch (head & 3) {
    case 0:
      return primitiveJson(variant.value, at + 1, info);
    case 1:
      return quoted(variant.value.text(at + 1, info));
    case 2:
      return objectJson(variant, at + 1, info, depth);
    default:
      return arrayJson(variant, at + 1, info, depth);
  }
}

function objectJson(variant: Variant, at: number, info: number, depth: number): string {
  const { value } = variant;
  const sizeBytes = (info & 0x10) === 0 ? 1 : 4;
  const [idBytes, offsetBytes] = [((info >> 2) & 3) + 1, (info & 3) + 1];
  const size = value.unsigned(at, sizeBytes);
  const ids = at + sizeBytes;
  const offsets = ids + size * idBytes;
  const data = offsets + (size + 1) * offsetBytes;
  const fields: string[] = [];
  for (let i = 0; i < size; i++) {
    const key = keyText(variant.keys, value.unsigned(ids + i * idBytes, idBytes));
    const field = jsonAt(variant, data + value.unsigned(offsets + i * offsetBytes, offsetBytes), depth + 1);
    fields.push(`${quoted(key)}:${field}`);
  }
  return `{${fields.join(",")}}`;
}

function arrayJson(variant: Variant, at: number, info: number, depth: number): string {
  const { value } = variant;
  const sizeBytes = (info & 4) === 0 ? 1 : 4;
  const offsetBytes = (info & 3) + 1;
  const size = value.unsigned(at, sizeBytes);
  const offsets = at + sizeBytes;
  const data = offsets + (size + 1) * offsetBytes;
  const elements: string[] = [];
  for (let i = 0; i < size; i++) {
    elements.push(jsonAt(variant, data + value.unsigned(offsets + i * offsetBytes, offsetBytes), depth + 1));
  }
  return `[${elements.join(",")}]`;
}

function keyText(keys: Bytes, id: number): string {
  const offsetBytes = (keys.unsigned(0, 1) >> 6) + 1;
  const count = keys.unsigned(1, offsetBytes);
  const offsetAt = (number: number): number => keys.unsigned(1 + offsetBytes * (number + 1), offsetBytes);
  const start = offsetAt(id);
  return keys.text(1 + offsetBytes * (count + 2) + start, offsetAt(id + 1) - start);
}

/** Indexed by the number of the primitive type. */
const primitives: readonly (((value: Bytes, at: number) => string) | undefined)[] = [
  () => "null",
  () => "true",
  () => "false",
  (value, at) => String(value.signed(at, 1)),
  (value, at) => String(value.signed(at, 2)),
  (value, at) => String(value.signed(at, 4)),
  (value, at) => String(value.signed(at, 8)),
  (value, at) => floating(value.view.getFloat64(at, true), writeDouble),
  (value, at) => decimal(value, at, 4),
  (value, at) => decimal(value, at, 8),
  (value, at) => decimal(value, at, 16),
  (value, at) => `"${written((sink) => writeDate(sink, value.view.getInt32(at, true)))}"`,
  (value, at) => `"${timestamp(value, at)}+00:00"`,
  (value, at) => `"${timestamp(value, at)}"`,
  (value, at) => floating(value.view.getFloat32(at, true), writeFloat),
  (value, at) => `"${value.part(at + 4, value.unsigned(at, 4)).toString("base64")}"`,
  (value, at) => quoted(value.text(at + 4, value.unsigned(at, 4))),
  undefined,
  undefined,
  undefined,
  (value, at) => `"${value.part(at, 16).toString("hex").replace(UUID_PARTS, "$1-$2-$3-$4-$5")}"`,
];

const UUID_PARTS = /^(.{8})(.{4})(.{4})(.{4})(.{12})$/;

function primitiveJson(value: Bytes, at: number, type: number): string {
  const json = primitives[type];
  if (json === undefined) throw new Error(`unknown type in a variant: ${type}`);
  return json(value, at);
}

function floating(value: number, write: (sink: ByteSink, value: number) => void): string {
  const text = written((sink) => write(sink, value));
  return Number.isFinite(value) ? text : `"${text}"`;
}

function decimal(value: Bytes, at: number, byteCount: number): string {
  const text = decimalText(value.signed(at + 1, byteCount), value.unsigned(at, 1));
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function timestamp({ view }: Bytes, at: number): string {
  return written((sink) => writeTimestamp(sink, view.getInt32(at, true), view.getInt32(at + 4, true), undefined));
}

/** Uses capital letters in escapes, as Jackson does. */
function quoted(text: string): string {
  return JSON.stringify(text).replace(/(\\\\)|\\u(00[01][\da-f])/g, (_, pair: string | undefined, code: string) => {
    return pair ?? `\\u${code.toUpperCase()}`;
  });
}

function written(write: (sink: ByteSink) => void): string {
  const sink = new ByteSink(32);
  write(sink);
  return sink.toText(0);
}

/** Little-endian. Reading outside of the bytes throws. */
class Bytes {
  readonly view: DataView;
  readonly #bytes: Buffer;

  constructor({ buffer, byteOffset, byteLength }: Uint8Array) {
    this.view = new DataView(buffer, byteOffset, byteLength);
    this.#bytes = Buffer.from(buffer, byteOffset, byteLength);
  }

  unsigned(at: number, count: number): number {
    return this.part(at, count).readUIntLE(0, count);
  }

  signed(at: number, count: number): bigint {
    let value = 0n;
    for (let i = count - 1; i >= 0; i--) value = (value << 8n) | BigInt(this.unsigned(at + i, 1));
    return BigInt.asIntN(count * 8, value);
  }

  text(at: number, count: number): string {
    return this.part(at, count).toString("utf8");
  }

  part(at: number, count: number): Buffer {
    if (at < 0 || count < 0 || at + count > this.#bytes.length) throw new Error("a variant is damaged");
    return this.#bytes.subarray(at, at + count);
  }
}
