import type { Queryable } from "../../db/database.ts";
import { COMMAND_COLUMNS, type CommandRow } from "./command-row.ts";

/** A command must match one entry of each list; undefined: no filter. */
export interface HistoryFilter {
  commandTypes: readonly string[] | undefined;
  statuses: readonly string[] | undefined;
  names: readonly string[] | undefined;
  labels: readonly string[] | undefined;
  tags: readonly string[] | undefined;
  userIds: readonly number[] | undefined;
  commandIds: readonly number[] | undefined;
  commandSources: readonly string[] | undefined;
}

export interface HistoryQuery {
  start: Date;
  end: Date;
  /** Null: of all users. */
  ownerId: number | null;
  filter: HistoryFilter;
  /** The last command of the previous page: the list continues after it. */
  afterId: number | null;
  limit: number;
  offset: number;
}

export type HistoryRow = CommandRow & { tags: string[] };

/**
 * Newest first. The ids of a page come from an index that has this order: that of the account or the user, or that of
 * the tags if the filter has tags. So the cost of a page depends on its depth inside the window, not on the size of the
 * history. Rows are fetched for the page only.
 */
export async function listHistory(reader: Queryable, query: HistoryQuery): Promise<HistoryRow[]> {
  const { text, values } = statementOf(query);
  return reader.query<HistoryRow>(text, values);
}

export async function hasCommand(reader: Queryable, id: number): Promise<boolean> {
  return (await reader.query("select from command where id = $1", [id])).length > 0;
}

function statementOf({ start, end, ownerId, filter, afterId, limit, offset }: HistoryQuery) {
  const values: unknown[] = [];
  const put = (value: unknown): string => `$${values.push(value)}`;
  const { tags } = filter;
  // The table whose index gives the order: the command itself, or its tag, which has the same time.
  const [from, createdAt, id] =
    tags === undefined
      ? ["from command c", "c.created_at", "c.id"]
      : ["from command_tag t join command c on c.id = t.command_id", "t.created_at", "t.command_id"];
  const conditions = [`${createdAt} >= ${put(start)}`, endOf(createdAt, id, put(end), afterId, put)];
  if (tags !== undefined) {
    const [only, ...others] = tags;
    conditions.push(others.length === 0 ? `t.tag = ${put(only)}` : `t.tag = any (${put(tags)}::text[])`);
  }
  if (ownerId !== null) conditions.push(`c.user_id = ${put(ownerId)}`);
  const lists: [column: string, type: string, wanted: readonly unknown[] | undefined][] = [
    ["c.command_type", "text", filter.commandTypes],
    ["c.status", "text", filter.statuses],
    ["c.name", "text", filter.names],
    ["c.label", "text", filter.labels],
    ["c.user_id", "bigint", filter.userIds],
    ["c.id", "bigint", filter.commandIds],
    ["c.command_source", "text", filter.commandSources],
  ];
  for (const [column, type, wanted] of lists) {
    if (wanted !== undefined) conditions.push(`${column} = any (${put(wanted)}::${type}[])`);
  }
  const text = `
    with page as (
      select ${(tags?.length ?? 0) > 1 ? "distinct " : ""}${createdAt} as created_at, ${id} as id ${from}
       where ${conditions.join(" and ")}
       order by 1 desc, 2 desc limit ${put(limit)} offset ${put(offset)})
    select ${COMMAND_COLUMNS}, array(select t.tag from command_tag t where t.command_id = c.id order by t.tag) as tags
      from page join command c on c.id = page.id
     order by page.created_at desc, page.id desc`;
  return { text, values };
}

/**
 * The upper bound of the list: the earlier one of the window's end and the cursor. With two separate conditions, the index
 * scan might start at the later one and read everything in between. No command has the id 0, so a bound with the id 0 is
 * that of the window.
 */
function endOf(
  createdAt: string,
  id: string,
  end: string,
  afterId: number | null,
  put: (value: unknown) => string,
): string {
  if (afterId === null) return `${createdAt} < ${end}`;
  const after = put(afterId);
  const cursor = (what: string): string => `(select ${what} from command where id = ${after})`;
  const [latest, before] = [`least(created_at, ${end})`, `case when created_at < ${end} then id else 0 end`];
  return `(${createdAt}, ${id}) < (${cursor(latest)}, ${cursor(before)})`;
}
