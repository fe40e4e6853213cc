/** A statement that returned rows, and their columns. */
export interface ResultTable {
  readonly query: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
}

/** In characters. It is in every row of the history, so it stays small whatever was asked. */
const LONGEST_QUERY = 4096;
const LONGEST_SCHEMA = 64 * 1024;

/**
 * `qlog` of §2.2: the columns of the result, under the query they are of. A long query is cut; columns that do not fit
 * are left out together, because a part of them would be taken for all.
 */
export function querySchema({ query, columns }: ResultTable): string | null {
  const key = query.length > LONGEST_QUERY ? `${query.slice(0, LONGEST_QUERY).toWellFormed()}…` : query;
  const fields = columns.map(({ name, type }) => ({ ColumnName: name, ColumnType: type }));
  const schema = JSON.stringify({ "SVC-QUERY-SCHEMA": { [key]: fields } });
  return schema.length > LONGEST_SCHEMA ? null : schema;
}
