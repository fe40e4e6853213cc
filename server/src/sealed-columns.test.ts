import { expect, test } from "vitest";
import { Client } from "pg";
import { cloneDatabase } from "../test/support/test-database.ts";
import { sealedColumns } from "./sealed-columns.ts";

async function ask(sql: string): Promise<string[]> {
  const database = await cloneDatabase();
  const client = new Client(database.connection);
  await client.connect();
  try {
    const { rows } = await client.query<{ column: string }>(sql);
    return rows.map(({ column }) => column).toSorted();
  } finally {
    await client.end();
    await database.drop();
  }
}

const listed = sealedColumns.map(({ table, column }) => `${table}.${column}`).toSorted();

test("every bytea column of the schema is listed as sealed, unless its name says that it is a hash", async () => {
  const columns = await ask(
    `select table_name || '.' || column_name as column from information_schema.columns
      where table_schema = 'public' and data_type = 'bytea' and column_name !~ 'sha256$'`,
  );
  expect(columns).toEqual(listed);
});

test("every sealed column has an index on the id of its key for resealing", async () => {
  const columns = await ask(
    `select tablename || '.' || (regexp_match(indexdef, '\\(SUBSTRING\\((\\w+) FROM 1 FOR 4\\)\\)'))[1] as column
       from pg_indexes where schemaname = 'public' and indexname ~ '_sealed$'`,
  );
  expect(columns).toEqual(listed);
});
