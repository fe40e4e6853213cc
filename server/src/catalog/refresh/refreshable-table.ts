import { hadoopPath } from "../../engines/hive-tables/hadoop-path.ts";
import { NO_S3_KEYS, ObjectStoreError } from "../../object-store/object-store-error.ts";
import { parseObjectUri } from "../../object-store/object-uri.ts";
import { Fault } from "../../lib/fault.ts";
import type { OpenStorage } from "../../accounts/contract.ts";
import type { CatalogTable } from "../tables/table-catalog.ts";
import type { PartitionColumn } from "./partition-folder.ts";
import type { FoundPartition } from "./table-partitions.ts";

/** A table that can be refreshed: it is partitioned and has a location. */
export interface RefreshableTable extends CatalogTable {
  readonly location: string;
}

interface RequestedTable {
  readonly schema: string;
  readonly table: string;
}

type Storage = Pick<OpenStorage, "hasKeys" | "hdfsHttpAddress">;

/** Throws if the table cannot be refreshed, with the reason and a remedy. Pure. */
export function checkRefreshable(
  table: CatalogTable | undefined,
  requested: RequestedTable,
  storage: Storage,
): RefreshableTable {
  const name = `${requested.schema}.${requested.table}`;
  if (table === undefined) throw refused(`the table ${name} is not in the metastore: create it first`);
  if (table.kind === "VIRTUAL_VIEW" || table.kind === "MATERIALIZED_VIEW") {
    throw refused(`${name} is a view, which has no partitions: refresh the tables that it reads`);
  }
  if (table.partitionKeys.length === 0) {
    throw refused(`the table ${name} is not partitioned: Spark finds its new files without a refresh`);
  }
  const { location } = table;
  if (location === null) throw refused(`the table ${name} has no location`);
  checkStore(location, storage);
  return { ...table, location };
}

function checkStore(location: string, { hasKeys, hdfsHttpAddress }: Storage): void {
  const scheme = schemeOf(location);
  if (scheme === "s3" && !hasKeys) {
    throw refused(`the table is stored at ${withoutKeys(location)}, and ${NO_S3_KEYS}`);
  }
  if (scheme === "hdfs" && hdfsHttpAddress === null) {
    throw refused(
      `the table is stored at ${withoutKeys(location)}, and the account has no HDFS address: set hdfs_http_address`,
    );
  }
}

function schemeOf(location: string): string {
  try {
    return parseObjectUri(location).scheme;
  } catch (error) {
    throw listingFailure(error, location);
  }
}

/** Old locations have keys before an `@`, and a secret key may contain slashes. A port is not a key. */
export function withoutKeys(location: string): string {
  return location.replace(/^([a-z][a-z0-9+.-]*:\/\/)(?:[^/@]*@|[^/]*?:(?!\d+(?:\/|$))[^@]*@)/i, "$1");
}

/** Turns an error of the store into a message for the user; returns any other error unchanged. */
export function listingFailure(error: unknown, location: string): unknown {
  if (!(error instanceof ObjectStoreError)) return error;
  switch (error.kind) {
    case "bad-uri":
      return refused(
        `the table is stored at ${withoutKeys(location)}, which this account cannot read: ${error.message}. Only tables on S3, on ` +
          "HDFS and in the account's own storage folder can be refreshed",
      );
    case "denied":
      return refused(`the table's folders cannot be listed: ${error.message}. ${remedy(location)}`, error);
    case "refused-address":
      return refused(`the table's folders cannot be listed: ${error.message}`, error);
    default:
      return new Fault("unavailable", `the table's folders cannot be listed: ${error.message}`, { cause: error });
  }
}

function remedy(location: string): string {
  return /^file:/i.test(location)
    ? "Make the table's location the folder itself, not a link to it, and let the server read it"
    : "Allow the account's storage keys, or its HDFS user, to list them";
}

function refused(message: string, cause?: unknown): Fault {
  return new Fault("invalid", message, { cause });
}

const SPARK_READS = /parquet|\borc/i;

/**
 * Why a partition would make every query of its table fail. Hadoop parses a colon in a folder's name as the end of a
 * scheme and fails; Spark's own readers do not use that code.
 */
export function whyNotReadable(
  table: RefreshableTable,
  { location }: Pick<FoundPartition, "location">,
): string | undefined {
  const isReadBySpark = table.parameters.has("spark.sql.sources.provider") || SPARK_READS.test(table.inputFormat ?? "");
  if (isReadBySpark || !location.slice(hadoopPath(table.location).length).includes(":")) return undefined;
  return "the colon in its name would make queries of this table fail: write it as %3A";
}

/** In the order of the folder levels. Spark's types are preferred, as it has types that Hive cannot express. */
export function partitionColumns({ partitionKeys, columns }: CatalogTable): PartitionColumn[] {
  const types = new Map(columns.map(({ name, type }) => [name.toLowerCase(), type]));
  return partitionKeys.map(({ name, type }) => ({ name, type: types.get(name.toLowerCase()) ?? type }));
}
