import { noValue, unescapePart } from "../../engines/hive-thrift/partition-name.ts";
import { isValueOf } from "./value-of-type.ts";

/** The partition column of one folder level. */
export interface PartitionColumn {
  readonly name: string;
  readonly type: string;
}

export type FolderReading =
  | { readonly kind: "partition"; readonly value: string }
  /** Written by engines beside the partitions. */
  | { readonly kind: "hidden" }
  | { readonly kind: "invalid"; readonly why: string };

const HIDDEN: FolderReading = { kind: "hidden" };

/**
 * Parses the name of a folder as Spark's RECOVER PARTITIONS does: `column=value`, the column in any case, with `%` and
 * two hexadecimal digits for an escaped character. The value keeps its spelling, so `07` and `7` are two partitions.
 * Unlike Spark, it requires a valid value of the column's type. Pure.
 */
export function readFolderName(name: string, column: PartitionColumn): FolderReading {
  const at = name.indexOf("=");
  if (name.startsWith(".") || (name.startsWith("_") && at === -1)) return HIDDEN;
  if (at === -1) return invalid(`its name is not of the form ${column.name}=value`);
  const named = unescapePart(name.slice(0, at));
  if (named.toLowerCase() !== column.name.toLowerCase()) return invalid(`expected ${column.name}=value at this level`);
  const value = unescapePart(name.slice(at + 1));
  if (value === "") return invalid(`it has no value; rows without a value belong to ${column.name}=${noValue}`);
  if (value !== noValue && !isValueOf(column.type, value)) return invalid(`its value is not a valid ${column.type}`);
  return { kind: "partition", value };
}

function invalid(why: string): FolderReading {
  return { kind: "invalid", why };
}
