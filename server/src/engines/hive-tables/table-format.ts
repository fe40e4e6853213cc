/**
 * The name of the format if the table keeps a list of its files itself, by the parameters that its writers store in the
 * metastore. The metastore then knows no partitions of it.
 */
export function selfListedFormat(parameters: ReadonlyMap<string, string>): string | undefined {
  if (parameters.get("spark.sql.sources.provider")?.toLowerCase() === "delta") return "Delta Lake";
  if (parameters.get("table_type")?.toLowerCase() === "iceberg") return "Apache Iceberg";
  return undefined;
}
