import type { TableColumn } from "../../engines/hive-tables/table-columns.ts";
import type { PartitionAnswer, PartitionQuestion } from "./partition-question.ts";

/**
 * What an account's metastore knows of its tables, whoever keeps it: ours is read by SQL on its database, which needs no
 * Java, an external one by Thrift. Long answers come piece by piece. The signal `until` is aborted when the caller needs
 * the answer no longer. Until then the answer of an external metastore counts as in memory (`metastore-reads.ts`).
 */
export interface TableCatalog {
  /** In order. */
  schemaNames(until?: AbortSignal): Promise<string[]>;
  /** Those of the names that are there, in the order of the names. */
  schemas(names: readonly string[]): Promise<CatalogSchema[]>;
  /** In order; of a metastore of ours in that of its database. Undefined: there is no such schema. */
  tableNames(schema: string, until?: AbortSignal): Promise<string[] | undefined>;
  /** Those of the names that are there. They have to be in the order that `tableNames` has: the database counts on it. */
  describe(schema: string, names: readonly string[], until?: AbortSignal): AsyncIterable<readonly DescribedTable[]>;
  /** Undefined: there is no such schema or table. The signal ends what is asked of somebody else's metastore. */
  table(schema: string, name: string, signal?: AbortSignal): Promise<CatalogTable | undefined>;
  /** In the order of their names; none where there is no such table. */
  partitions(schema: string, name: string, until?: AbortSignal): AsyncIterable<readonly CatalogPartition[]>;
  /** In the order of the questions. */
  hasPartitions(questions: readonly PartitionQuestion[]): Promise<PartitionAnswer[]>;
}

export interface CatalogSchema {
  readonly name: string;
  readonly description: string | null;
  readonly location: string | null;
}

export interface DescribedTable {
  readonly name: string;
  /** Of each its name and type (`columns-json.ts`). */
  readonly columnsJson: string;
}

export interface CatalogTable {
  readonly schema: string;
  readonly name: string;
  readonly columns: readonly TableColumn[];
  /** Of this table and of no other that has its name later on. */
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
