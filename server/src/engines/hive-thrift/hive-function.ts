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

/** A function of a metastore. `null`: it gives nothing. */
export interface HiveFunction<A extends Fields, T extends ThriftType | null> extends Signature<A> {
  readonly gives: T;
  /** Two of it are as good as one. */
  readonly isRead: boolean;
}

export type ResultOf<T extends ThriftType | null> = T extends ThriftType ? ThriftValue<T> : undefined;
export type ParametersOf<A extends Fields> = ThriftValue<StructType<A>>;

/** All of Hive's exceptions have this one field. */
const exception = struct({ message: optional(1, string) });

export function hiveFunction<A extends Fields, T extends ThriftType | null>(
  name: string,
  parameters: A,
  gives: T,
  throws: Readonly<Record<number, DeclaredErrorKind>>,
  mode: "read" | "write" = "read",
): HiveFunction<A, T> {
  const fields: Record<string, Field> = gives === null ? {} : { success: optional(0, gives) };
  for (const [id, kind] of Object.entries(throws)) fields[kind] = optional(Number(id), exception);
  return { name, parameters: struct(parameters), outcome: struct(fields), gives, isRead: mode === "read" };
}

/** What the function gave, or the exception that it threw. */
export function resultOf<A extends Fields, T extends ThriftType | null>(
  { name, gives }: HiveFunction<A, T>,
  { success, ...exceptions }: Readonly<Record<string, unknown>>,
): ResultOf<T> {
  for (const [kind, thrown] of Object.entries(exceptions)) {
    if (thrown === undefined) continue;
    const { message = "" } = thrown as ThriftValue<typeof exception>; // so `hiveFunction` described it
    throw new HiveError(kind as DeclaredErrorKind, name, message); // the keys of `throws`
  }
  if (gives !== null && success === undefined) throw new HiveError("failed", name, "the metastore gave nothing");
  return success as ResultOf<T>; // described by `gives`
}
