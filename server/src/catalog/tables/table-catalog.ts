/**
 * The tables of an account. A metastore of ours is read by SQL from its database, without a JVM, an external one by
 * Thrift. Long answers come in batches. The signal `until` is aborted when the caller no longer needs the answer: until
 * then the answer of an external metastore counts as in memory (`metastore-call-limits.ts`).
 */
import type { TableColumn } from "../../engines/hive-tables/table-columns.ts";
import type { PartitionAnswer, PartitionQuestion } from "./partition-question.ts";

export interface TableCatalog {
  /** Sorted. */
  schemaNames(until?: AbortSignal): Promise<string[]>;
  /** Sorted, by the database's collation for a metastore of ours. Undefined: there is no such schema. */
  tableNames(schema: string, until?: AbortSignal): Promise<string[] | undefined>;
  /** The existing ones. The names must be in the order of `tableNames`: the SQL relies on it. */
  describe(schema: string, names: readonly string[], until?: AbortSignal): AsyncIterable<readonly DescribedTable[]>;
  /** Undefined: there is no such schema or table. The signal cancels the call to an external metastore. */
  table(schema: string, name: string, signal?: AbortSignal): Promise<CatalogTable | undefined>;
  /** Sorted by name. Empty if there is no such table. */
  partitions(schema: string, name: string, until?: AbortSignal): AsyncIterable<readonly CatalogPartition[]>;
  /** In the order of the questions. */
  hasPartitions(questions: readonly PartitionQuestion[]): Promise<PartitionAnswer[]>;
}

export interface DescribedTable {
  readonly name: string;
  /** An array of names and types (`columns-json.ts`). */
  readonly columnsJson: string;
}

export interface CatalogTable {
  readonly schema: string;
  readonly name: string;
  readonly columns: readonly TableColumn[];
  /** Differs from that of a later table with the same name. */
  readonly identity: string;
  /** `MANAGED_TABLE`, `EXTERNAL_TABLE` or `VIRTUAL_VIEW`. */
  readonly kind: string;
  readonly owner: string | null;
  readonly createdAt: Date;
  readonly location: string | null;
  readonly inputFormat: string | null;
  readonly partitionKeys: readonly TableColumn[];
  readonly parameters: ReadonlyMap<string, string>;
}

export interface CatalogPartition {
  /** `dt=2026-11-15/city=K%C3%B6ln` */
  readonly name: string;
  readonly location: string | null;
}

/**
 * Spark writes it into locations that Hive must not use. The real location is then a parameter of the table's serde.
 */
const PLACEHOLDER = "-__PLACEHOLDER__";

/** Null for a view. */
export function tableLocation(location: string | null, serdeParameters: ReadonlyMap<string, string>): string | null {
  return location?.endsWith(PLACEHOLDER) === true ? (serdeParameters.get("path") ?? location) : location;
}
