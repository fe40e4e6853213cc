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
