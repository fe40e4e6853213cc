/**
 * The partitions of a table as a refresh needs them. A metastore of ours is accessed by SQL, an external one by Thrift;
 * both write the same rows. Existing partitions are never changed or dropped. A newer table with the same name is not
 * touched.
 */
import { Fault } from "../../lib/fault.ts";
import type { CatalogTable } from "../tables/table-catalog.ts";

export interface TablePartitions {
  /** The best number of partitions to compare and add at a time. */
  readonly batch: number;
  /** The found partitions that the metastore lacks, in the same order. */
  missing(found: readonly FoundPartition[], signal: AbortSignal): Promise<FoundPartition[]>;
  /**
   * Afterwards all of them exist, even if others add the same at the same time. Returns those that this call added, as
   * far as that can be known. After a failure some may exist; these are complete, and the call can be repeated.
   */
  add(partitions: readonly FoundPartition[], signal: AbortSignal): Promise<FoundPartition[]>;
  /** Closes the connections that are kept open between batches. */
  close(): Promise<void>;
}

export interface FoundPartition {
  /** Unescaped, in the order of the table's partition keys. */
  readonly values: readonly string[];
  /** A Hadoop path (`s3a://bucket/t/day=1/city=a%2Fb`): it contains only the escapes of the folders' own names. */
  readonly location: string;
}

/** Called once for each refresh, which closes the result. */
export type OpenTablePartitions = (accountId: number, table: CatalogTable) => Promise<TablePartitions>;

export function tableIsGone({ schema, name }: Pick<CatalogTable, "schema" | "name">): Fault {
  return new Fault("not-found", `The table ${schema}.${name} no longer exists.`);
}
