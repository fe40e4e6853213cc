import { Fault } from "../../lib/fault.ts";
import type { CatalogTable } from "../tables/table-catalog.ts";

/**
 * What a refresh asks of a table's metastore, whoever keeps it: ours is asked by SQL on its database, somebody else's by
 * Thrift. Both leave the same rows. Nothing is ever changed or dropped: a partition that is there already stays as it is.
 */
export interface TablePartitions {
  /** Those of the found that the metastore does not know, in their order. */
  missing(found: readonly FoundPartition[], signal: AbortSignal): Promise<FoundPartition[]>;
  /**
   * All of them are there afterwards, whoever else adds the same at the same time. When it fails, some may be there;
   * those are complete, and it may simply be repeated.
   */
  add(partitions: readonly FoundPartition[], signal: AbortSignal): Promise<void>;
}

export interface FoundPartition {
  /** As they are, not as folders are named; in the order of the table's partition keys. */
  readonly values: readonly string[];
  /** As Hadoop writes it (`s3a://bucket/t/day=1/city=a%2Fb`): nothing in it is escaped but what its folders' names are. */
  readonly location: string;
}

/** Holds nothing open between calls: there is nothing to close. Made anew for each refresh. */
export type OpenTablePartitions = (accountId: number, table: CatalogTable) => Promise<TablePartitions>;

/** Dropped meanwhile. */
export function tableIsGone({ schema, name }: Pick<CatalogTable, "schema" | "name">): Fault {
  return new Fault("not-found", `The table ${schema}.${name} is there no more.`);
}
