import type { ByteSource, Reading } from "./byte-source.ts";
import {
  ThriftError,
  type ListType,
  type MapType,
  type ScalarType,
  type StructType,
  type ThriftType,
  type ThriftValue,
  fixedSize,
  wireTag,
} from "./thrift-type.ts";

/** Approximate memory overhead of a value in V8. */
const valueBytes = 32;
const maxDepth = 64;

/** Reads a value. Unknown fields and fields of an unexpected type are skipped, as Thrift requires for compatibility. */
export function* readValue<T extends ThriftType>(source: ByteSource, type: T): Reading<ThriftValue<T>> {
  // The only cast: each reader below returns the type of its kind.
  return (yield* readAny(source, type)) as ThriftValue<T>;
}

function* readAny(source: ByteSource, type: ThriftType): Reading<unknown> {
  switch (type.kind) {
    case "struct":
      return yield* readStruct(source, type);
    case "list":
      return yield* readList(source, type);
    case "map":
      return yield* readMap(source, type);
    case "string":
      return yield* readText(source);
    default:
      return yield* readNumber(source, type);
  }
}

function* readNumber(source: ByteSource, { kind }: ScalarType): Reading<number | bigint | boolean> {
  const size = fixedSize.get(wireTag[kind]) ?? 0;
  source.spend(size);
  if (!source.has(size)) yield* source.need(size);
  switch (kind) {
    case "bool":
      return source.takeInt8() !== 0;
    case "byte":
      return source.takeInt8();
    case "i16":
      return source.takeInt16();
    case "i64":
      return source.takeInt64();
    case "double":
      return source.takeDouble();
    default:
      return source.takeInt32();
  }
}

export function* readText(source: ByteSource, maxBytes = Infinity): Reading<string> {
  const length = yield* readLength(source);
  if (length > maxBytes) throw new ThriftError(`a string of the message has more than ${maxBytes} bytes`);
  source.spend(length + valueBytes);
  if (!source.has(length)) yield* source.need(length);
  return source.takeText(length);
}

function* readStruct(source: ByteSource, type: StructType): Reading<Record<string, unknown>> {
  const { byId, blank, requiredNames } = layoutOf(type);
  source.spend(valueBytes);
  const value: Record<string, unknown> = { ...blank };
  for (;;) {
    const tag = yield* readTag(source);
    if (tag === wireTag.stop) break;
    const field = byId.get(yield* readFieldId(source));
    if (field === undefined || field.tag !== tag) yield* skipValue(source, tag, 1);
    else value[field.name] = yield* readAny(source, field.type);
  }
  for (const name of requiredNames) {
    if (value[name] === undefined) throw new ThriftError(`the message has no field ${name}`);
  }
  return value;
}

function* readList(source: ByteSource, { element }: ListType): Reading<unknown[]> {
  const tag = yield* readTag(source);
  const length = yield* readLength(source);
  if (length > 0 && tag !== wireTag[element.kind])
    throw new ThriftError(`the elements of a list are not of type ${element.kind}`);
  source.spend(valueBytes);
  const values: unknown[] = [];
  for (let count = 0; count < length; count += 1) values.push(yield* readAny(source, element));
  return values;
}

function* readMap(source: ByteSource, { key, value }: MapType): Reading<Map<unknown, unknown>> {
  const keyTag = yield* readTag(source);
  const valueTag = yield* readTag(source);
  const length = yield* readLength(source);
  if (length > 0 && (keyTag !== wireTag[key.kind] || valueTag !== wireTag[value.kind])) {
    throw new ThriftError(`the entries of a map are not of types ${key.kind} and ${value.kind}`);
  }
  source.spend(valueBytes);
  const values = new Map<unknown, unknown>();
  for (let count = 0; count < length; count += 1) {
    source.spend(valueBytes);
    const name = yield* readAny(source, key);
    values.set(name, yield* readAny(source, value));
  }
  return values;
}

/** Keeps nothing of the skipped value in memory. */
function* skipValue(source: ByteSource, tag: number, depth: number): Reading<void> {
  if (depth > maxDepth) throw new ThriftError(`the message is nested more than ${maxDepth} levels deep`);
  const size = fixedSize.get(tag) ?? (tag === wireTag.string ? yield* readLength(source) : undefined);
  if (size !== undefined) {
    source.spend(size);
    yield* source.skip(size);
  } else if (tag === wireTag.struct) {
    for (let inner = yield* readTag(source); inner !== wireTag.stop; inner = yield* readTag(source)) {
      yield* readFieldId(source);
      yield* skipValue(source, inner, depth + 1);
    }
  } else if (tag === wireTag.list || tag === wireTag.set) {
    const inner = yield* readTag(source);
    yield* skipValues(source, [inner], yield* readLength(source), depth);
  } else if (tag === wireTag.map) {
    const inner = [yield* readTag(source), yield* readTag(source)];
    yield* skipValues(source, inner, yield* readLength(source), depth);
  } else {
    throw new ThriftError(`the message has a value of unknown type ${tag}`);
  }
}

function* skipValues(source: ByteSource, tags: readonly number[], length: number, depth: number): Reading<void> {
  for (let count = 0; count < length; count += 1) {
    for (const tag of tags) yield* skipValue(source, tag, depth + 1);
  }
}

function* readTag(source: ByteSource): Reading<number> {
  source.spend(1);
  if (!source.has(1)) yield* source.need(1);
  return source.takeInt8();
}

function* readFieldId(source: ByteSource): Reading<number> {
  source.spend(2);
  if (!source.has(2)) yield* source.need(2);
  return source.takeInt16();
}

export function* readInt32(source: ByteSource): Reading<number> {
  source.spend(4);
  if (!source.has(4)) yield* source.need(4);
  return source.takeInt32();
}

function* readLength(source: ByteSource): Reading<number> {
  const length = yield* readInt32(source);
  if (length < 0) throw new ThriftError("the message has a negative length");
  return length;
}

interface Layout {
  readonly byId: ReadonlyMap<number, { readonly name: string; readonly tag: number; readonly type: ThriftType }>;
  /** Copied for each value, so that all have the same hidden class in V8. */
  readonly blank: Readonly<Record<string, undefined>>;
  readonly requiredNames: readonly string[];
}

const layouts = new WeakMap<StructType, Layout>();

function layoutOf(type: StructType): Layout {
  const known = layouts.get(type);
  if (known !== undefined) return known;
  const fields = Object.entries(type.fields);
  const layout: Layout = {
    byId: new Map(fields.map(([name, { id, type }]) => [id, { name, tag: wireTag[type.kind], type }])),
    blank: Object.fromEntries(fields.map(([name]) => [name, undefined])),
    requiredNames: fields.flatMap(([name, { isRequired }]) => (isRequired ? [name] : [])),
  };
  layouts.set(type, layout);
  return layout;
}
