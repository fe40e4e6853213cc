import type { Client } from "pg";

/** The tables and sequences of the product, read from the catalogs, at any migration. */
export interface Table {
  name: string;
  /** Without generated columns, which COPY cannot load. */
  columns: string[];
}

export interface Sequence {
  name: string;
  lastValue: string;
  isCalled: boolean;
}

/** All tables except the list of migrations, each after the tables it refers to. */
export async function listTables(client: Client): Promise<Table[]> {
  const { rows } = await client.query<Table & { refers_to: string[] }>(
    `select c.relname as name,
            (select array_agg(a.attname::text order by a.attnum) from pg_attribute a
              where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns,
            array(select distinct r.relname::text from pg_constraint k join pg_class r on r.oid = k.confrelid
                   where k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid) as refers_to
       from pg_class c
      where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relname <> 'schema_migration'
      order by c.relname`,
  );
  return inLoadOrder(rows.map(({ name, columns, refers_to: refersTo }) => ({ name, columns, refersTo }))).map(
    ({ name, columns }) => ({ name, columns }),
  );
}

/** Referenced tables first, otherwise by name, so that exports of the same schema have the same order. */
function inLoadOrder<T extends { name: string; refersTo: readonly string[] }>(tables: readonly T[]): T[] {
  const ordered: T[] = [];
  const left = new Map(tables.map((table) => [table.name, table]));
  while (left.size > 0) {
    const next = [...left.values()].find(({ refersTo }) => !refersTo.some((name) => left.has(name)));
    if (next === undefined) throw new Error(`tables have circular references: ${[...left.keys()].join(", ")}`);
    ordered.push(next);
    left.delete(next.name);
  }
  return ordered;
}

export async function countRows(client: Client, table: string): Promise<number> {
  const { rows } = await client.query<{ count: string }>(
    `select count(*)::text as count from ${client.escapeIdentifier(table)}`,
  );
  return Number(rows[0]?.count);
}

export async function isEmptyTable(client: Client, table: string): Promise<boolean> {
  const { rows } = await client.query<{ empty: boolean }>(
    `select not exists (select from ${client.escapeIdentifier(table)}) as empty`,
  );
  return rows[0]?.empty ?? true;
}

export async function listSequences(client: Client): Promise<Sequence[]> {
  const { rows } = await client.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'S' order by relname`,
  );
  const sequences: Sequence[] = [];
  for (const { name } of rows) {
    const { rows: state } = await client.query<Omit<Sequence, "name">>(
      `select last_value::text as "lastValue", is_called as "isCalled" from ${client.escapeIdentifier(name)}`,
    );
    if (state[0] !== undefined) sequences.push({ name, ...state[0] });
  }
  return sequences;
}

export async function setSequence(client: Client, { name, lastValue, isCalled }: Sequence): Promise<void> {
  await client.query("select setval($1::regclass, $2, $3)", [client.escapeIdentifier(name), lastValue, isCalled]);
}

/** Makes the text form of values independent of the settings of both servers. */
export const PORTABLE_TEXT = `
  set client_encoding = 'UTF8'; set datestyle = 'ISO, YMD'; set intervalstyle = 'postgres'; set timezone = 'UTC';
  set bytea_output = 'hex'; set extra_float_digits = 3; set search_path = public`;
