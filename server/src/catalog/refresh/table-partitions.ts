import { Fault } from "../../lib/fault.ts";
import type { CatalogTable } from "../tables/table-catalog.ts";

/**
 * What a refresh asks of a table's metastore, whoever keeps it: ours is asked by SQL on its database, somebody else's by
 * Thrift. Both leave the same rows. Nothing is ever changed or dropped: a partition that is there already stays as it is.
 * Another table that has got the same name meanwhile is not touched.
 */
export interface TablePartitions {
  /** So many are best compared and added at a time. */
  readonly batch: number;
  /** Those of the found that the metastore does not know, in their order. */
  missing(found: readonly FoundPartition[], signal: AbortSignal): Promise<FoundPartition[]>;
  /**
   * All of them are there afterwards, whoever else adds the same at the same time; told are those that nobody else has
   * added, as far as that can be known. When it fails, some may be there; those are complete, and it may simply be
   * repeated.
   */
  add(partitions: readonly FoundPartition[], signal: AbortSignal): Promise<FoundPartition[]>;
  /** Lets go of the connections that it keeps for what is added next. */
  close(): Promise<void>;
}

export interface FoundPartition {
  /** As they are, not as folders are named; in the order of the table's partition keys. */
  readonly values: readonly string[];
  /** As Hadoop writes it (`s3a://bucket/t/day=1/city=a%2Fb`): nothing in it is escaped but what its folders' names are. */
  readonly location: string;
}

/** Made anew for each refresh, which closes it. */
export type OpenTablePartitions = (accountId: number, table: CatalogTable) => Promise<TablePartitions>;

/** Dropped meanwhile. */
export function tableIsGone({ schema, name }: Pick<CatalogTable, "schema" | "name">): Fault {
  return new Fault("not-found", `The table ${schema}.${name} is there no more.`);
}
