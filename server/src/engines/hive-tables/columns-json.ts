import { schemaText, sparkColumns, SQL_NAMES, type TableColumn } from "./table-columns.ts";

/**
 * Names and types of columns as JSON text, `[{"name":"id","type":"bigint"},…]`, for listings of thousands of tables:
 * most of the time of such a listing would go into objects that are made only to become text again.
 */
export function columnsJson(columns: readonly TableColumn[]): string {
  return JSON.stringify(columns.map(({ name, type }) => ({ name, type })));
}

/** Undefined: Spark has written none, or none that can be read. */
export function sparkColumnsJson(parameters: ReadonlyMap<string, string>): string | undefined {
  const schema = schemaText(parameters);
  if (schema === undefined) return undefined;
  const plain = plainColumnsJson(schema);
  if (plain !== undefined) return plain;
  const columns = sparkColumns(schema);
  return columns === undefined ? undefined : columnsJson(columns);
}

/** In Spark's own spelling: no quote in it, nothing escaped, so that each quote begins or ends a text. */
const TEXT = String.raw`"[^"\\\u0000-\u001f]*"`;
const OTHER = String.raw`,"nullable":(?:true|false),"metadata":\{(?:"comment":${TEXT})?\}`;
const FIELD = String.raw`\{"name":${TEXT},"type":${TEXT}${OTHER}\}`;
const PLAIN_SCHEMA = new RegExp(String.raw`^\{"type":"struct","fields":\[${FIELD}(?:,${FIELD})*\]\}$`);
const FIELDS_AT = '{"type":"struct","fields":'.length;
const OTHERS = new RegExp(OTHER, "g");
const RENAMED = new RegExp(`"type":"(${[...SQL_NAMES.keys()].join("|")})"`, "g");
/** Expressions need room to go back; longer ones, of a thousand columns, are rare. */
const LONGEST_PLAIN = 64 * 1024;

/**
 * Of a schema whose columns all have simple types, as most do: ours is Spark's JSON without what else it tells of each.
 * Undefined: it is another one.
 */
function plainColumnsJson(schema: string): string | undefined {
  if (schema.length > LONGEST_PLAIN || !PLAIN_SCHEMA.test(schema)) return undefined;
  return schema
    .slice(FIELDS_AT, -1)
    .replace(OTHERS, "")
    .replace(RENAMED, (_, type: string) => `"type":"${SQL_NAMES.get(type) ?? type}"`);
}
