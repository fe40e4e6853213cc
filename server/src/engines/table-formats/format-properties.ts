/**
 * The Spark properties of table formats. Delta takes the place of Spark's own catalog, where it handles its tables and
 * leaves all others to Spark. Iceberg has a catalog of its own over the same metastore.
 */
import { ICEBERG_CATALOG, TABLE_FORMATS, type TableFormat } from "./table-format.ts";

type Properties = Readonly<Record<string, string>>;

export interface FormatContext {
  /** The URI of the folder for tables without a location. */
  readonly warehouse: string;
  /** Whether the metastore is ours. */
  readonly hasOwnMetastore: boolean;
  /** The processors for its tasks; undefined: they run on a cluster elsewhere. */
  readonly processors: number | undefined;
}

const EXTENSIONS: Readonly<Record<TableFormat, string>> = {
  delta: "io.delta.sql.DeltaSparkSessionExtension",
  iceberg: "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
};

const icebergSetting = `spark.sql.catalog.${ICEBERG_CATALOG}`;
const icebergLocks = "spark.hadoop.iceberg.engine.hive.lock-enabled";
const snapshotPartitions = "spark.databricks.delta.snapshotPartitions";
const snapshotCache = "spark.databricks.delta.snapshotCache.storageLevel";

const DELTA: Properties = {
  "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
  // Otherwise the metastore would not know the columns of Delta's tables.
  "spark.databricks.delta.catalog.update.enabled": "true",
  // Commits to local files are exclusive only with this class of ours. Drivers commit, also those of clusters elsewhere.
  "spark.hadoop.fs.AbstractFileSystem.file.impl": "headgate.localfs.ExclusiveLocalFs",
};

const ICEBERG: Properties = {
  [icebergSetting]: "org.apache.iceberg.spark.SparkCatalog",
  [`${icebergSetting}.type`]: "hive",
};

/**
 * Our metastore compares and replaces a table's current version in one statement of its database, and has no table for
 * the locks that Iceberg would use otherwise. Writers of an external metastore may rely on the locks.
 */
const WITHOUT_LOCKS: Properties = { [icebergLocks]: "false" };

/** Delta's own number. It suits large clusters: on a small machine it made a first statement many times slower. */
const DELTA_PARTITIONS = 50;

/** Spark does not release executors with cached data, and others need the executors of a cluster elsewhere, too. */
const UNCACHED: Properties = { [snapshotCache]: "NONE" };

/** Properties that users may override. */
export function formatDefaults(formats: readonly TableFormat[], { processors }: FormatContext): Properties {
  if (!formats.includes("delta")) return {};
  if (processors === undefined) return UNCACHED;
  return { [snapshotPartitions]: String(Math.min(Math.max(processors, 2), DELTA_PARTITIONS)) };
}

export function formatProperties(
  formats: readonly TableFormat[],
  { warehouse, hasOwnMetastore }: FormatContext,
): Properties {
  if (formats.length === 0) return {};
  return {
    "spark.sql.extensions": extensionsOf(formats),
    ...(formats.includes("delta") ? DELTA : {}),
    ...(formats.includes("iceberg") ? { ...ICEBERG, [`${icebergSetting}.warehouse`]: warehouse } : {}),
    ...(formats.includes("iceberg") && hasOwnMetastore ? WITHOUT_LOCKS : {}),
  };
}

function extensionsOf(formats: readonly TableFormat[]): string {
  return TABLE_FORMATS.filter((format) => formats.includes(format))
    .map((format) => EXTENSIONS[format])
    .join(",");
}

/** The properties with fixed values. */
const FIXED: Properties = { ...DELTA, ...ICEBERG, ...WITHOUT_LOCKS };

/** The properties that are the server's while a cluster has table formats, with everything below them. */
const OWNED = ["spark.sql.extensions", ...Object.keys(FIXED)];

export function isOwnedByFormats(name: string): boolean {
  return OWNED.some((owned) => name === owned || name.startsWith(`${owned}.`));
}

const COMBINATIONS: readonly (readonly TableFormat[])[] = [["delta"], ["iceberg"], TABLE_FORMATS];

const KNOWN: ReadonlyMap<string, readonly string[]> = new Map([
  ["spark.sql.extensions", COMBINATIONS.map(extensionsOf)],
  ...Object.entries(FIXED).map(([key, value]): [string, string[]] => [key, [value]]),
]);

/** Whether it is a property of ours, with a value of ours. The same property with another value may load users' code. */
export function isFormatProperty(key: string, value: string): boolean {
  if (key === `${icebergSetting}.warehouse`) return true; // a location
  if (key === snapshotPartitions) return /^\d{1,9}$/.test(value);
  return KNOWN.get(key)?.includes(value) ?? false;
}
