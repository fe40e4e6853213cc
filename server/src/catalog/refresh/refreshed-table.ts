import { hadoopPath } from "../../engines/hive-tables/hadoop-path.ts";
import { ObjectStoreError } from "../../engines/object-store/object-store-error.ts";
import { parseObjectUri } from "../../engines/object-store/object-uri.ts";
import { Fault } from "../../lib/fault.ts";
import type { OpenStorage } from "../../accounts/contract.ts";
import type { CatalogTable } from "../tables/table-catalog.ts";
import type { PartitionColumn } from "./partition-folder.ts";
import type { FoundPartition } from "./table-partitions.ts";

/** A table that has partitions, and a place for them. */
export interface RefreshedTable extends CatalogTable {
  readonly location: string;
}

interface Asked {
  readonly schema: string;
  readonly table: string;
}

type Storage = Pick<OpenStorage, "hasKeys" | "hdfsHttpAddress">;

/** Says what keeps a table from being refreshed, and what would help. Pure. */
export function openRefreshed(table: CatalogTable | undefined, asked: Asked, storage: Storage): RefreshedTable {
  const name = `${asked.schema}.${asked.table}`;
  if (table === undefined) throw refused(`the table ${name} is not in the metastore: create it before it is refreshed`);
  if (table.kind === "VIRTUAL_VIEW" || table.kind === "MATERIALIZED_VIEW") {
    throw refused(`${name} is a view, which has no partitions: refresh the tables that it reads`);
  }
  if (table.partitionKeys.length === 0) {
    throw refused(`the table ${name} is not partitioned: Spark finds new files of it by itself`);
  }
  const { location } = table;
  if (location === null) throw refused(`the table ${name} has no location`);
  checkStore(location, storage);
  return { ...table, location };
}

function checkStore(location: string, { hasKeys, hdfsHttpAddress }: Storage): void {
  const scheme = schemeOf(location);
  if (scheme === "s3" && !hasKeys) {
    throw refused(
      `the table lies at ${withoutKeys(location)}, and the account has no keys for it: set storage_access_key and storage_secret_key`,
    );
  }
  if (scheme === "hdfs" && hdfsHttpAddress === null) {
    throw refused(
      `the table lies at ${withoutKeys(location)}, and the account has no address for it: set hdfs_http_address`,
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

/** Old locations carry keys before an `@`; those of a secret may have slashes in them. A port is no key. */
export function withoutKeys(location: string): string {
  return location.replace(/^([a-z][a-z0-9+.-]*:\/\/)(?:[^/@]*@|[^/]*?:(?!\d+(?:\/|$))[^@]*@)/i, "$1");
}

/** What a store says, for whoever asked for the refresh; what is no word of a store's passes as it is. */
export function listingFailure(error: unknown, location: string): unknown {
  if (!(error instanceof ObjectStoreError)) return error;
  switch (error.kind) {
    case "bad-uri":
      return refused(
        `the table lies at ${withoutKeys(location)}, where this account has no storage: ${error.message}. Only s3, hdfs and the ` +
          "account's own storage folder can be refreshed",
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
    ? "Let the table's location name the folder itself, and the server read it"
    : "Let the account's storage keys, or its user of HDFS, list them";
}

function refused(message: string, cause?: unknown): Fault {
  return new Fault("invalid", message, { cause });
}

const SPARK_READS = /parquet|\borc/i;

/**
 * Why a partition would spoil each query of its table. Hadoop takes a colon in the name of a folder for the end of a
 * scheme, and fails; Spark's own readers do not ask it.
 */
export function whyUnread(table: RefreshedTable, { location }: Pick<FoundPartition, "location">): string | undefined {
  const isReadBySpark = table.parameters.has("spark.sql.sources.provider") || SPARK_READS.test(table.inputFormat ?? "");
  if (isReadBySpark || !location.slice(hadoopPath(table.location).length).includes(":")) return undefined;
  return "queries of this table would fail on the colon in its name: write it as %3A";
}

/** In the order of the levels of folders. Spark knows types that Hive cannot express. */
export function partitionColumns({ partitionKeys, columns }: CatalogTable): PartitionColumn[] {
  const types = new Map(columns.map(({ name, type }) => [name.toLowerCase(), type]));
  return partitionKeys.map(({ name, type }) => ({ name, type: types.get(name.toLowerCase()) ?? type }));
}
