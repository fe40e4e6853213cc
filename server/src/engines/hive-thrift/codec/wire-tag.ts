import type { ThriftType } from "./thrift-type.ts";

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
