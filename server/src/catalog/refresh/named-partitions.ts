import { hadoopPath } from "../../engines/hive-tables/hadoop-path.ts";
import { longestPartitionName, partitionName } from "../../engines/hive-thrift/partition-name.ts";
import type { CatalogTable } from "../tables/table-catalog.ts";
import { Fault } from "../../lib/fault.ts";
import type { FoundPartition } from "./table-partitions.ts";

/** A found partition with its name in the metastore: `day=2026-01-31/city=K%3Aln`. */
export interface NamedPartition extends FoundPartition {
  readonly name: string;
}

/** The lengths of columns in the metastore's database. */
const LONGEST_VALUE = 255;
const LONGEST_LOCATION = 4000;

export function nameOf({ partitionKeys }: Pick<CatalogTable, "partitionKeys">, { values }: FoundPartition): string {
  return partitionName(partitionKeys, values);
}

/** Sorted by name. If two folders mean the same partition (`day=1`, `DAY=1`), only the first counts. */
export function named(table: CatalogTable, partitions: readonly FoundPartition[]): NamedPartition[] {
  const byName = new Map<string, NamedPartition>();
  for (const partition of partitions) {
    const { values, location } = partition;
    const name = nameOf(table, partition);
    if (!byName.has(name)) byName.set(name, { name, values, location: hadoopPath(location) });
  }
  return [...byName.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

/** Why a metastore cannot store it. One such partition would make its whole batch fail. */
export function whyNotStorable(
  table: Pick<CatalogTable, "partitionKeys">,
  partition: FoundPartition,
): string | undefined {
  const { values, location } = partition;
  if (values.length !== table.partitionKeys.length) return `it needs ${table.partitionKeys.length} values`;
  if ([...values, location].some((text) => text.includes("\0"))) return "it contains the character U+0000";
  if (values.some((value) => value.length > LONGEST_VALUE)) return `a value is longer than ${LONGEST_VALUE} characters`;
  if (nameOf(table, partition).length > longestPartitionName)
    return `its name is longer than ${longestPartitionName} characters`;
  if (location.length > LONGEST_LOCATION) return `its location is longer than ${LONGEST_LOCATION} characters`;
  return undefined;
}

export function assertStorable(table: CatalogTable, partitions: readonly FoundPartition[]): void {
  for (const partition of partitions) {
    const why = whyNotStorable(table, partition);
    if (why === undefined) continue;
    throw new Fault("invalid", `The partition at ${partition.location.slice(0, 200)} cannot be stored: ${why}.`);
  }
}
