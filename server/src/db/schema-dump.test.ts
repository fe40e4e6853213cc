import { readFileSync } from "node:fs";
import { Client } from "pg";
import { expect, test } from "vitest";
import { cloneDatabase } from "../../test/support/test-database.ts";
import { dumpSchema } from "./schema-dump.ts";

const committed = readFileSync(new URL("schema.sql", import.meta.url), "utf8");

/** Without a template the database is empty; the template of the tests has every migration. */
async function dump(template: string | undefined, sql = ""): Promise<string> {
  const database = await cloneDatabase(template);
  const client = new Client(database.connection);
  await client.connect();
  try {
    if (sql !== "") await client.query(sql);
    return await dumpSchema(client);
  } finally {
    await client.end();
    await database.drop();
  }
}

test("schema.sql is the result of all migrations (otherwise: npm run generate)", async () => {
  expect(await dump(undefined)).toBe(committed);
});

test("schema.sql creates the same schema on an empty database", async () => {
  expect(await dump("template0", committed)).toBe(committed);
});

test("only accounts may execute functions that run as their owner, and their search_path is fixed", async () => {
  const database = await cloneDatabase();
  const client = new Client(database.connection);
  await client.connect();
  try {
    const { rows } = await client.query(
      `select p.proname as name, p.proconfig as settings,
              array(select case when a.grantee = 0 then 'public' else a.grantee::regrole::text end
                      from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
                     where a.grantee <> p.proowner) as grantees
         from pg_proc p where p.prosecdef and p.pronamespace = 'public'::regnamespace`,
    );
    expect(rows).toEqual([
      { name: "member_with_email", settings: ["search_path=pg_catalog, pg_temp"], grantees: ["headgate_account"] },
    ]);
  } finally {
    await client.end();
    await database.drop();
  }
});
