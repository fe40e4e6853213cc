import type { Contribution } from "../spark-home/contribution.ts";
import { foldersOf, type FormatFiles } from "./format-jars.ts";
import { formatDefaults, formatProperties, isOwnedByFormats } from "./format-properties.ts";
import type { TableFormat } from "./table-format.ts";

/** Only Sparks with a metastore of ours get its secret. */
const OWN_METASTORE = "spark.headgate.metastore.secret";

/**
 * The first table of Delta in a server takes many seconds of processor time, most of them to read the table's log. Spark
 * replaces the variable by the server's own folder. A statement that was interrupted is run again.
 */
const DELTA_WARM_UP = [
  "create table if not exists delta.`${spark.local.dir}/delta-warm-up` (id int, name string) using delta",
  "insert into delta.`${spark.local.dir}/delta-warm-up` values (1, 'a')",
  "select * from delta.`${spark.local.dir}/delta-warm-up` where id > 0 order by id",
];

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
    warmUp: formats.includes("delta") && processors !== undefined ? DELTA_WARM_UP : [],
    ignored: all.map(([key]) => key).filter(isOwnedByFormats),
  };
}
