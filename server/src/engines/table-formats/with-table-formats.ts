import { basename } from "node:path";
import type { Contribution } from "../spark-home/contribution.ts";
import { foldersOf } from "./format-jars.ts";
import { FORMAT_DEFAULTS, formatProperties, isOwnedByFormats } from "./format-properties.ts";
import type { TableFormat } from "./table-format.ts";

/** Only Sparks with a metastore of ours get its secret. */
const OWN_METASTORE = "spark.headgate.metastore.secret";

/**
 * The first table of Delta in a server takes many seconds of processor time, most of them to read the table's log. Spark
 * replaces the variable by the server's own folder.
 */
const DELTA_WARM_UP = [
  "create table delta.`${spark.local.dir}/delta-warm-up` (id int, name string) using delta",
  "insert into delta.`${spark.local.dir}/delta-warm-up` values (1, 'a')",
  "select * from delta.`${spark.local.dir}/delta-warm-up` where id > 0 order by id",
];

/** Delta's jar contains its Python module (`from delta.tables import DeltaTable`), which Python reads from there. */
function pythonModules(jars: readonly string[]): Record<string, string> {
  const jar = jars.find((path) => basename(path).startsWith("delta-spark_"));
  return jar === undefined ? {} : { PYTHONPATH: jar };
}

/**
 * The contribution with the table formats. Properties of an app, or of an operator's file, that the formats own are left
 * out, whatever they say: half of a configuration would be worse.
 */
export function withTableFormats(
  contribution: Contribution,
  formats: readonly TableFormat[],
  { jars, runsHere }: { jars: readonly string[]; runsHere: boolean },
): Contribution {
  if (formats.length === 0) return contribution;
  const all = Object.entries(contribution.properties);
  const context = {
    warehouse: contribution.properties["spark.sql.warehouse.dir"] ?? "",
    hasOwnMetastore: OWN_METASTORE in contribution.properties,
    runsHere,
  };
  return {
    ...contribution,
    properties: {
      ...FORMAT_DEFAULTS,
      ...Object.fromEntries(all.filter(([key]) => !isOwnedByFormats(key))),
      ...formatProperties(formats, context),
    },
    classPath: [...contribution.classPath, ...jars],
    env: { ...contribution.env, ...pythonModules(jars) },
    readOnly: [...contribution.readOnly, ...foldersOf(jars)],
    hasTableFormats: true,
    warmUp: formats.includes("delta") && runsHere ? DELTA_WARM_UP : [],
    ignored: all.map(([key]) => key).filter(isOwnedByFormats),
  };
}
