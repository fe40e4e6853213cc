import type { Signature } from "./codec/message.ts";
import {
  optional,
  string,
  struct,
  type Field,
  type Fields,
  type StructType,
  type ThriftType,
  type ThriftValue,
} from "./codec/thrift-type.ts";
import { HiveError, type DeclaredErrorKind } from "./hive-error.ts";

/** A function of a metastore. */
export interface HiveFunction<A extends Fields, T extends ThriftType | null> extends Signature<A> {
  /** Null if it returns nothing. */
  readonly returns: T;
  /** Can be repeated without effect. */
  readonly isRead: boolean;
}

export type ResultOf<T extends ThriftType | null> = T extends ThriftType ? ThriftValue<T> : undefined;
export type ParametersOf<A extends Fields> = ThriftValue<StructType<A>>;

/** All of Hive's exceptions have this one field. */
const exception = struct({ message: optional(1, string) });

export function hiveFunction<A extends Fields, T extends ThriftType | null>(
  name: string,
  parameters: A,
  returns: T,
  throws: Readonly<Record<number, DeclaredErrorKind>>,
  mode: "read" | "write" = "read",
): HiveFunction<A, T> {
  const fields: Record<string, Field> = returns === null ? {} : { success: optional(0, returns) };
  for (const [id, kind] of Object.entries(throws)) fields[kind] = optional(Number(id), exception);
  return { name, parameters: struct(parameters), outcome: struct(fields), returns, isRead: mode === "read" };
}

/** Returns the function's result or throws its exception. */
export function resultOf<A extends Fields, T extends ThriftType | null>(
  { name, returns }: HiveFunction<A, T>,
  { success, ...exceptions }: Readonly<Record<string, unknown>>,
): ResultOf<T> {
  for (const [kind, thrown] of Object.entries(exceptions)) {
    if (thrown === undefined) continue;
    const { message = "" } = thrown as ThriftValue<typeof exception>; // described by `hiveFunction`
    throw new HiveError(kind as DeclaredErrorKind, name, message); // a value of `throws`
  }
  if (returns !== null && success === undefined)
    throw new HiveError("failed", name, "the metastore returned no result");
  return success as ResultOf<T>; // described by `returns`
}
