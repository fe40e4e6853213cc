import { noValue, unescapePart } from "../../engines/hive-thrift/partition-name.ts";
import { isValueOf } from "./value-of-type.ts";

/** A column that folders of one level are named by. */
export interface PartitionColumn {
  readonly name: string;
  readonly type: string;
}

export type FolderReading =
  | { readonly kind: "partition"; readonly value: string }
  /** Nobody's partition: what engines write beside them. */
  | { readonly kind: "hidden" }
  /** For the log. */
  | { readonly kind: "odd"; readonly why: string };

const HIDDEN: FolderReading = { kind: "hidden" };

/**
 * What the name of a folder says, as Spark's own RECOVER PARTITIONS reads it: `column=value`, the column in any case, `%`
 * and two digits for a character. The value stays as it is spelled, so `07` and `7` are two partitions. Beyond what Spark
 * asks, the value must be one of the column's type. Pure.
 */
export function readFolderName(name: string, column: PartitionColumn): FolderReading {
  const at = name.indexOf("=");
  if (name.startsWith(".") || (name.startsWith("_") && at === -1)) return HIDDEN;
  if (at === -1) return odd(`its name is not ${column.name}=value`);
  const named = unescapePart(name.slice(0, at));
  if (named.toLowerCase() !== column.name.toLowerCase()) return odd(`${column.name}=value is expected there`);
  const value = unescapePart(name.slice(at + 1));
  if (value === "") return odd(`it has no value; rows without one are in ${column.name}=${noValue}`);
  if (value !== noValue && !isValueOf(column.type, value)) return odd(`its value is no ${column.type}`);
  return { kind: "partition", value };
}

function odd(why: string): FolderReading {
  return { kind: "odd", why };
}
