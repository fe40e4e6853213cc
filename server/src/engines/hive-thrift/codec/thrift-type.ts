/**
 * Thrift's types as data. A struct is described once, by the ids and names of its fields; reader, writer and the
 * TypeScript type (`ThriftValue<typeof table>`) are derived from that.
 */
export type ThriftType = ScalarType | ListType | MapType | StructType;

type ScalarKind = "bool" | "byte" | "i16" | "i32" | "i64" | "double" | "string";

export interface ScalarType<K extends ScalarKind = ScalarKind> {
  readonly kind: K;
}

export interface ListType<E extends ThriftType = ThriftType> {
  readonly kind: "list";
  readonly element: E;
}

export interface MapType<K extends ThriftType = ThriftType, V extends ThriftType = ThriftType> {
  readonly kind: "map";
  readonly key: K;
  readonly value: V;
}

export interface StructType<F extends Fields = Fields> {
  readonly kind: "struct";
  readonly fields: F;
}

export type Fields = Readonly<Record<string, Field>>;

export interface Field<T extends ThriftType = ThriftType, R extends boolean = boolean> {
  readonly id: number;
  readonly type: T;
  /** A message without a required field violates the protocol. */
  readonly isRequired: R;
}

/** Thrift maps become a Map instead of an object, because their keys are untrusted. */
export type ThriftValue<T extends ThriftType> =
  T extends ScalarType<infer K>
    ? ScalarValue<K>
    : T extends ListType<infer E>
      ? readonly ThriftValue<E>[]
      : T extends MapType<infer K, infer V>
        ? ReadonlyMap<ThriftValue<K>, ThriftValue<V>>
        : T extends StructType<infer F>
          ? StructValue<F>
          : never;

type ScalarValue<K extends ScalarKind> = K extends "bool"
  ? boolean
  : K extends "string"
    ? string
    : K extends "i64"
      ? bigint
      : number;

type RequiredName<F extends Fields> = { [N in keyof F]: F[N]["isRequired"] extends true ? N : never }[keyof F];

type StructValue<F extends Fields> = {
  readonly [N in RequiredName<F>]: ThriftValue<F[N]["type"]>;
} & {
  readonly [N in Exclude<keyof F, RequiredName<F>>]?: ThriftValue<F[N]["type"]> | undefined;
};

export const bool: ScalarType<"bool"> = { kind: "bool" };
export const byte: ScalarType<"byte"> = { kind: "byte" };
export const i16: ScalarType<"i16"> = { kind: "i16" };
export const i32: ScalarType<"i32"> = { kind: "i32" };
export const i64: ScalarType<"i64"> = { kind: "i64" };
export const double: ScalarType<"double"> = { kind: "double" };
export const string: ScalarType<"string"> = { kind: "string" };

export function list<E extends ThriftType>(element: E): ListType<E> {
  return { kind: "list", element };
}

export function map<K extends ThriftType, V extends ThriftType>(key: K, value: V): MapType<K, V> {
  return { kind: "map", key, value };
}

export function struct<F extends Fields>(fields: F): StructType<F> {
  return { kind: "struct", fields };
}

export function required<T extends ThriftType>(id: number, type: T): Field<T, true> {
  return { id, type, isRequired: true };
}

export function optional<T extends ThriftType>(id: number, type: T): Field<T, false> {
  return { id, type, isRequired: false };
}

/** Type codes on the wire. Sets are encoded like lists; Thrift 0.19 added `uuid`. */
export const wireTag = {
  stop: 0,
  bool: 2,
  byte: 3,
  double: 4,
  i16: 6,
  i32: 8,
  i64: 10,
  string: 11,
  struct: 12,
  map: 13,
  set: 14,
  list: 15,
  uuid: 16,
} as const satisfies Record<ThriftType["kind"] | "stop" | "set" | "uuid", number>;

/** Sizes in bytes of the types with a fixed size. */
export const fixedSize: ReadonlyMap<number, number> = new Map([
  [wireTag.bool, 1],
  [wireTag.byte, 1],
  [wireTag.i16, 2],
  [wireTag.i32, 4],
  [wireTag.i64, 8],
  [wireTag.double, 8],
  [wireTag.uuid, 16],
]);

/** The received bytes violate the protocol or exceed a limit. */
export class ThriftError extends Error {
  override readonly name = "ThriftError";
}

/** The message exceeds its budget. */
export class MessageTooLong extends ThriftError {}
