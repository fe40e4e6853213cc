/** The table formats that Spark lacks and a cluster can have. */
export const TABLE_FORMATS = ["delta", "iceberg"] as const;
export type TableFormat = (typeof TABLE_FORMATS)[number];

export const FORMAT_NAMES: Readonly<Record<TableFormat, string>> = { delta: "Delta Lake", iceberg: "Apache Iceberg" };

/** The catalog of Iceberg's tables. It hides a schema of this name. */
export const ICEBERG_CATALOG = "iceberg";
