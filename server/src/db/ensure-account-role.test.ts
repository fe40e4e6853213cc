/** An external PostgreSQL as in DATABASE_URL: our login has only the privileges that its administrator granted. */
import { randomBytes } from "node:crypto";
import { Client, type ClientConfig } from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cloneDatabase, type TestDatabase } from "../../test/support/test-database.ts";
import { openDatabase } from "./database.ts";
import { migrate } from "./migrate.ts";

let database: TestDatabase;
let login: string;

beforeEach(async () => {
  database = await cloneDatabase("template0");
  login = `guest_${randomBytes(4).toString("hex")}`;
  await asOwner(`create role ${login} login password 'guest'; grant connect on database ${name()} to ${login}`);
});
afterEach(async () => {
  await database.drop();
  await asOwner(`drop role ${login}`, "headgate");
});

function name(): string {
  return database.connection.database;
}

function asGuest(): ClientConfig {
  return { ...database.connection, user: login, password: "guest" };
}

async function asOwner(sql: string, on = name()): Promise<void> {
  const client = new Client({ ...database.connection, database: on });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

describe("a login of an external PostgreSQL", () => {
  test("that cannot create tables gets a message with the missing grants", async () => {
    await expect(migrate(asGuest())).rejects.toThrow(
      new RegExp(`the user ${login} cannot create tables in the database ${name()}.*grant create on schema public`),
    );
  });

  test("that cannot use the role of row-level security gets a message with the missing grants", async () => {
    await asOwner(`grant create on schema public to ${login}`);
    await expect(migrate(asGuest())).rejects.toThrow(
      new RegExp(`the user ${login} needs the role headgate_account.*grant headgate_account to "${login}"`),
    );
  });

  test("migrates and works once the grants in the messages are made", async () => {
    await asOwner(`grant create on schema public to ${login}; grant headgate_account to ${login}`);
    await expect(migrate(asGuest())).resolves.not.toEqual([]);
    const db = openDatabase(asGuest());
    try {
      expect(await db.accountReader(1).query("select id from account")).toEqual([]);
    } finally {
      await db.close();
    }
  });
});
