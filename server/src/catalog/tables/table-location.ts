/** What Spark writes for a location that Hive must not look at; the true one is a parameter of the table's serde. */
const PLACEHOLDER = "-__PLACEHOLDER__";

/** Null: a view has none. */
export function tableLocation(location: string | null, serdeParameters: ReadonlyMap<string, string>): string | null {
  return location?.endsWith(PLACEHOLDER) === true ? (serdeParameters.get("path") ?? location) : location;
}
