/** The list of owners is compared with every string of server/src that is SQL, and with the schema. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { repositoryDir } from "./support/repository-dir.ts";
import { sourceStrings } from "./support/source-strings.ts";
import { tablesIn, type TableUse } from "./support/sql-tables.ts";
import { TABLES, INTERPOLATED_TABLES } from "./table-owners.ts";

const source = join(repositoryDir, "server/src");
const schema = readFileSync(join(source, "db/schema.sql"), "utf8");
const DEFINITION = /^create (?:table|view) (\w+)|^create or replace function public\.(\w+)[^;]*?returns table/gim;
const known = new Set([...schema.matchAll(DEFINITION)].map(([, relation, routine]) => relation ?? routine ?? ""));

interface FoundUse extends TableUse {
  readonly folder: string;
  /** The file, or the view or function. */
  readonly where: string;
}

const folderOf = (file: string): string => file.split("/", 1)[0] ?? "";

const inCode: FoundUse[] = sourceStrings(source).flatMap(({ file, text, property }) => {
  const uses = tablesIn(text, known);
  // A column that is declared with its table is written elsewhere, for its owner.
  if (property === "table" && known.has(text)) uses.push({ table: text, use: "writes" });
  return uses.map((use) => ({ ...use, folder: folderOf(file), where: file }));
});

const interpolated: FoundUse[] = inCode.filter(({ table }) => table.includes("{"));

const throughInterpolation: FoundUse[] = interpolated.flatMap((use) =>
  (INTERPOLATED_TABLES[use.where]?.[use.table] ?? []).map((table) => ({ ...use, table })),
);

/** The bodies of views and functions belong to their owners. */
const inSchema: FoundUse[] = schema.split("\n\n").flatMap((block) =>
  [...block.matchAll(DEFINITION)].flatMap(([, relation, routine]) => {
    const name = relation ?? routine ?? "";
    const others = new Set([...known].filter((each) => each !== name));
    return tablesIn(block, others).map((use) => ({ ...use, folder: TABLES[name]?.owner ?? "", where: name }));
  }),
);

const all = [...inCode, ...throughInterpolation, ...inSchema];

function sortedSet(values: readonly string[]): string[] {
  return [...new Set(values)].toSorted();
}

test("every table, and every view and function that reads tables, has an owner that exists", () => {
  expect(known.size).toBeGreaterThan(30);
  expect(Object.keys(TABLES).toSorted()).toEqual([...known].toSorted());
  expect(Object.values(TABLES).filter(({ owner }) => !existsSync(join(source, owner)))).toEqual([]);
});

test("only the owner writes a table", () => {
  const foreign = all.filter(({ table, use, folder }) => use === "writes" && TABLES[table]?.owner !== folder);
  const found = foreign.filter(({ table }) => known.has(table)).map(({ table, where }) => `${where} writes ${table}`);
  expect(found).toEqual([]);
});

test("the scan finds a statement of the owner that writes each table", () => {
  const written = all.filter(({ use }) => use === "writes").map(({ table }) => table);
  const tables = [...schema.matchAll(/^create table (\w+)/gm)].map(([, name]) => name ?? "");
  expect(tables.filter((table) => !written.includes(table))).toEqual([]);
});

test("other folders read exactly the tables that the list allows them", () => {
  const read = all.filter(({ table, use, folder }) => use === "reads" && TABLES[table]?.owner !== folder);
  const allowed = Object.entries(TABLES).flatMap(([table, { readers = {} }]) =>
    Object.keys(readers).map((folder) => `${folder} reads ${table}`),
  );
  const found = read.filter(({ table }) => known.has(table)).map(({ table, folder }) => `${folder} reads ${table}`);
  expect(sortedSet(found)).toEqual(allowed.toSorted());
});

test("the list has all SQL whose table name is interpolated", () => {
  const listed = Object.entries(INTERPOLATED_TABLES).flatMap(([file, expressions]) =>
    Object.keys(expressions).map((expression) => `${file}: ${expression}`),
  );
  expect(sortedSet(interpolated.map((use) => `${use.where}: ${use.table}`))).toEqual(listed.toSorted());
});

test("the scan understands all SQL of the source and the schema", () => {
  expect(all.filter(({ use }) => use === "unclear")).toEqual([]);
  expect(sortedSet(inSchema.map(({ where }) => where))).toEqual([
    "effective_group_member",
    "folder_chain",
    "member_with_email",
  ]);
});

describe("the scan", () => {
  const tables = new Set(["account", "app", "api_token", "command", "member_of"]);
  const scan = (sql: string): string[] => tablesIn(sql, tables).map(({ table, use }) => `${use} ${table}`);

  test.each([
    ["insert into account (name) values ($1)", ["writes account"]],
    ["INSERT INTO ACCOUNT (name) VALUES ($1)", ["writes account"]],
    ["insert\n  into\n  account default values", ["writes account"]],
    ["update only account a set name = $1 from app b, command", ["writes account", "reads app", "reads command"]],
    ["delete from account a using app b, command c", ["writes account", "reads app", "reads command"]],
    ["merge into account using app on true when matched then delete", ["writes account", "reads app"]],
    ["lock table account in share mode", ["writes account"]],
    ["truncate account", ["writes account"]],
    ["create table if not exists account (id bigint)", ["writes account"]],
    ["copy account (id) from stdin", ["writes account"]],
    ['select id from public."account"', ["reads account"]],
    ["select from account, app a join command using (id)", ["reads account", "reads app", "reads command"]],
    ["select from unnest($1::bigint[], $2) as x (id, app), account", ["reads account"]],
    ["select from (account join app on true)", ["reads account", "reads app"]],
    ["select (select count(*) from app), name from account", ["reads app", "reads account"]],
    ["select from account left join lateral (select from app) a on true", ["reads account", "reads app"]],
    ["with x as (delete from account returning id) select from x, app", ["writes account", "reads app"]],
    ["with x as (update account set id = 1), y as (select 1) select from y", ["writes account"]],
    ["select from account for update of account", ["reads account"]],
    ["insert into app values (1) on conflict (id) do update set command = 1", ["writes app"]],
    ["select from account -- from app, it's a comment\n join command on true", ["reads account", "reads command"]],
    ["select 'from app', E'\\n' from account where name = 'it''s from command'", ["reads account"]],
    ["select id, command from account where x is distinct from command", ["reads account"]],
    ["select from member_of($1)", ["reads member_of"]],
    ["select member_of($1)", ["reads member_of"]],
    ["select to_regclass('account')", ["reads account"]],
    ["from account where true", ["reads account"]],
    ["join account on true", ["reads account"]],
    ["select from unnest($1) with ordinality x, account", ["reads account"]],
    ["select from {table} x join {other.table} y", ["reads {table}", "reads {other.table}"]],
    ["select from {table}_of, api_{table}", ["reads {table}_of", "reads api_{table}"]],
    ['update "{table}" set id = 1', ["writes {table}"]],
    ["select from ({subquery}) x where id in ({ids})", []],
  ])("finds the tables of %s", (sql, uses) => {
    expect(scan(sql)).toEqual(uses);
  });

  test.each([
    "delete from ",
    "select id, x, api_token where true",
    "select from account where name = '",
    "api_token t join x",
  ])("reports as unclear: %s", (sql) => {
    expect(scan(sql).some((use) => use.startsWith("unclear"))).toBe(true);
  });

  test.each(["From the account's app", "must be an integer from {least} to {most}", "Update account settings", "join"])(
    "finds no tables in prose: %s",
    (text) => {
      expect(scan(text)).toEqual([]);
    },
  );
});
