import type { Contribution } from "../spark-home/contribution.ts";
import { foldersOf, type FormatFiles } from "./format-jars.ts";
import { formatDefaults, formatProperties, isOwnedByFormats } from "./format-properties.ts";
import type { TableFormat } from "./table-format.ts";

/** Only Sparks with a metastore of ours get its secret. */
const OWN_METASTORE = "spark.headgate.metastore.secret";

/**
 * The first table of a format in a server takes seconds of processor time, most of them to load classes. These statements
 * create one in the server's own folder, whose name Spark substitutes; Iceberg needs a catalog of its own for it.
 */
const WARM_UP: Readonly<Record<TableFormat, readonly string[]>> = {
  delta: firstTable("delta.`file:${spark.local.dir}/delta-warm-up`", "delta"),
  iceberg: [
    "set spark.sql.catalog.warm_up=org.apache.iceberg.spark.SparkCatalog",
    "set spark.sql.catalog.warm_up.type=hadoop",
    "set spark.sql.catalog.warm_up.warehouse=file:${spark.local.dir}/iceberg-warm-up",
    ...firstTable("warm_up.one.first", "iceberg"),
  ],
};

function firstTable(name: string, format: TableFormat): string[] {
  return [
    `create table if not exists ${name} (id int, name string) using ${format}`,
    `insert into ${name} values (1, 'a')`,
    `select * from ${name} where id > 0 order by id`,
  ];
}

export interface FormatParts extends FormatFiles {
  /** The processors of this node if tasks run in the driver's own JVM; undefined: they run on a cluster elsewhere. */
  readonly processors: number | undefined;
}

/**
 * The contribution with the table formats. Properties of an app, or of an operator's file, that the formats own are left
 * out, whatever they say: half of a configuration would be worse.
 */
export function withTableFormats(
  contribution: Contribution,
  formats: readonly TableFormat[],
  { jars, pythonPath, processors }: FormatParts,
): Contribution {
  if (formats.length === 0) return contribution;
  const all = Object.entries(contribution.properties);
  const context = {
    warehouse: contribution.properties["spark.sql.warehouse.dir"] ?? "",
    hasOwnMetastore: OWN_METASTORE in contribution.properties,
    processors,
  };
  return {
    ...contribution,
    properties: {
      ...formatDefaults(formats, context),
      ...Object.fromEntries(all.filter(([key]) => !isOwnedByFormats(key))),
      ...formatProperties(formats, context),
    },
    classPath: [...contribution.classPath, ...jars],
    env: { ...contribution.env, ...(pythonPath === undefined ? {} : { PYTHONPATH: pythonPath }) },
    readOnly: [...contribution.readOnly, ...foldersOf(jars), ...(pythonPath === undefined ? [] : [pythonPath])],
    hasTableFormats: true,
    warmUp: processors === undefined ? [] : formats.map((format) => WARM_UP[format]),
    ignored: all.map(([key]) => key).filter(isOwnedByFormats),
  };
}
