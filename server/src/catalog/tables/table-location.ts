/** Spark writes it into locations that Hive must not use. The real location is then a parameter of the table's serde. */
const PLACEHOLDER = "-__PLACEHOLDER__";

/** Null for a view. */
export function tableLocation(location: string | null, serdeParameters: ReadonlyMap<string, string>): string | null {
  return location?.endsWith(PLACEHOLDER) === true ? (serdeParameters.get("path") ?? location) : location;
}
