import { readFileSync } from "node:fs";
import { Client } from "pg";
import { expect, test } from "vitest";
import { cloneDatabase } from "../../test/support/test-database.ts";
import { dumpSchema } from "./schema-dump.ts";

const committed = readFileSync(new URL("schema.sql", import.meta.url), "utf8");

/** `database` starts as PostgreSQL makes one; the template of the tests has every migration. */
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

test("schema.sql is what the migrations add up to (else: npm run generate)", async () => {
  expect(await dump(undefined)).toBe(committed);
});

test("schema.sql makes the same schema when it is run on an empty database", async () => {
  expect(await dump("template0", committed)).toBe(committed);
});
