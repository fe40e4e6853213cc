/** A statement that returned rows, and their columns. */
export interface ResultTable {
  readonly query: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
}

/** In characters. Every row of the history has the schema, so its size is limited. */
const LONGEST_QUERY = 4096;
const LONGEST_SCHEMA = 64 * 1024;

/**
 * `qlog` of §2.2: the columns of the result, by query. A long query is cut. If not all columns fit, there is no `qlog`,
 * because readers would take a part for the whole.
 */
export function querySchema({ query, columns }: ResultTable): string | null {
  const key = query.length > LONGEST_QUERY ? `${query.slice(0, LONGEST_QUERY).toWellFormed()}…` : query;
  const fields = columns.map(({ name, type }) => ({ ColumnName: name, ColumnType: type }));
  const schema = JSON.stringify({ "SVC-QUERY-SCHEMA": { [key]: fields } });
  return schema.length > LONGEST_SCHEMA ? null : schema;
}
