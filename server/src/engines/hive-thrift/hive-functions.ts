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
  i16,
  list,
  required,
} from "./codec/thrift-type.ts";
import { HiveError, type DeclaredErrorKind } from "./hive-error.ts";
import { addPartitionsRequest, database, partition, table, tableRequest, tablesRequest } from "./hive-structs.ts";

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

/**
 * Functions that have the same form and exception ids in metastores 2.3 to 4. Version 4 has no `get_table` and
 * `get_table_objects_by_name`, and other exception ids for `get_partition_names`.
 */
const ofTable = { dbName: required(1, string), tableName: required(2, string) };
const readsTable = { 1: "failed", 2: "no-such-object" } as const;

/** The first call of every connection. */
export const setUgi = hiveFunction(
  "set_ugi",
  { userName: required(1, string), groupNames: required(2, list(string)) },
  list(string),
  { 1: "failed" },
);

export const getAllDatabases = hiveFunction("get_all_databases", {}, list(string), { 1: "failed" });

export const getDatabase = hiveFunction("get_database", { name: required(1, string) }, database, {
  1: "no-such-object",
  2: "failed",
});

/** Returns an empty list if the database does not exist. */
export const getAllTables = hiveFunction("get_all_tables", { dbName: required(1, string) }, list(string), {
  1: "failed",
});

export const getTable = hiveFunction(
  "get_table_req",
  { request: required(1, tableRequest) },
  struct({ table: required(1, table) }),
  readsTable,
);

/** Omits missing ones. */
export const getTables = hiveFunction(
  "get_table_objects_by_name_req",
  { request: required(1, tablesRequest) },
  struct({ tables: required(1, list(table)) }),
  { 1: "failed", 2: "invalid-operation", 3: "no-such-object" },
);

export const getPartitionNames = hiveFunction(
  "get_partition_names_ps",
  { ...ofTable, values: required(3, list(string)), limit: required(4, i16) },
  list(string),
  readsTable,
);

/** Omits missing ones. */
export const getPartitionsByNames = hiveFunction(
  "get_partitions_by_names",
  { ...ofTable, names: required(3, list(string)) },
  list(partition),
  { ...readsTable, 3: "invalid-object" },
);

export const addPartitions = hiveFunction(
  "add_partitions_req",
  { request: required(1, addPartitionsRequest) },
  struct({ partitions: optional(1, list(partition)) }),
  { 1: "invalid-object", 2: "already-exists", 3: "failed" },
  "write",
);
