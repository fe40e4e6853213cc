import { schemaText, sparkColumns, SQL_NAMES, type TableColumn } from "./table-columns.ts";

/**
 * Names and types of columns as JSON, `[{"name":"id","type":"bigint"},…]`. Listings of thousands of tables avoid objects
 * that are only serialised again, which would take most of the time.
 */
export function columnsJson(columns: readonly TableColumn[]): string {
  return JSON.stringify(columns.map(({ name, type }) => ({ name, type })));
}

/** Undefined if Spark stored no schema, or none that can be parsed. */
export function sparkColumnsJson(parameters: ReadonlyMap<string, string>): string | undefined {
  const schema = schemaText(parameters);
  if (schema === undefined) return undefined;
  const plain = plainColumnsJson(schema);
  if (plain !== undefined) return plain;
  const columns = sparkColumns(schema);
  return columns === undefined ? undefined : columnsJson(columns);
}

/** A JSON string without escapes, so that every quote starts or ends a string. */
const TEXT = String.raw`"[^"\\\u0000-\u001f]*"`;
const OTHER = String.raw`,"nullable":(?:true|false),"metadata":\{(?:"comment":${TEXT})?\}`;
const FIELD = String.raw`\{"name":${TEXT},"type":${TEXT}${OTHER}\}`;
const PLAIN_SCHEMA = new RegExp(String.raw`^\{"type":"struct","fields":\[${FIELD}(?:,${FIELD})*\]\}$`);
const FIELDS_AT = '{"type":"struct","fields":'.length;
const OTHERS = new RegExp(OTHER, "g");
const RENAMED = new RegExp(`"type":"(${[...SQL_NAMES.keys()].join("|")})"`, "g");
/** Backtracking needs stack space. Longer schemas, with about a thousand columns, are rare. */
const MAX_PLAIN_LENGTH = 64 * 1024;

/**
 * Converts a schema whose columns all have simple types, as most do, by removing the other properties from Spark's JSON.
 * Undefined for all other schemas.
 */
function plainColumnsJson(schema: string): string | undefined {
  if (schema.length > MAX_PLAIN_LENGTH || !PLAIN_SCHEMA.test(schema)) return undefined;
  return schema
    .slice(FIELDS_AT, -1)
    .replace(OTHERS, "")
    .replace(RENAMED, (_, type: string) => `"type":"${SQL_NAMES.get(type) ?? type}"`);
}
