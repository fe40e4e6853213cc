import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { Client } from "pg";
import { afterEach, expect, test } from "vitest";
import { cloneDatabase, type TestDatabase } from "../../test/support/test-database.ts";
import { migrate, readMigrations } from "./migrate.ts";

const made: TestDatabase[] = [];
afterEach(async () => {
  await Promise.all(made.splice(0).map((database) => database.drop()));
});

async function emptyDatabase(): Promise<TestDatabase> {
  const database = await cloneDatabase("template0");
  made.push(database);
  return database;
}

async function query<Row extends object>({ connection }: TestDatabase, sql: string): Promise<Row[]> {
  const client = new Client(connection);
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

async function appliedNumbers(database: TestDatabase): Promise<number[]> {
  const rows = await query<{ number: number }>(database, "select number from schema_migration order by number");
  return rows.map(({ number }) => number);
}

test("migrations are applied once, in order, and a second run finds nothing to do", async () => {
  const database = await emptyDatabase();
  const known = (await readMigrations()).map(({ number }) => number);
  expect((await migrate(database.connection)).map(({ number }) => number)).toEqual(known);
  expect(await migrate(database.connection)).toEqual([]);
  expect(await appliedNumbers(database)).toEqual(known);
});

test("several concurrent calls all succeed, and every migration is applied once", async () => {
  const database = await emptyDatabase();
  const runs = await Promise.all(Array.from({ length: 4 }, () => migrate(database.connection)));
  const known = (await readMigrations()).map(({ number }) => number);
  expect(runs.flat().map(({ number }) => number)).toEqual(known);
  expect(await appliedNumbers(database)).toEqual(known);
});

test("two processes that migrate at the same time both succeed", async () => {
  const database = await emptyDatabase();
  const code = `
    import { migrate } from ${JSON.stringify(new URL("migrate.ts", import.meta.url).href)};
    console.log((await migrate(${JSON.stringify(database.connection)})).length);
  `;
  const outputs = await Promise.all(
    [1, 2].map(async () => {
      const child = spawn(process.execPath, ["--input-type=module", "--eval", code], {
        cwd: import.meta.dirname,
        stdio: ["ignore", "pipe", "inherit"],
      });
      const [output, [status]] = await Promise.all([text(child.stdout), once(child, "exit")]);
      expect(status).toBe(0);
      return Number(output);
    }),
  );
  expect(outputs.toSorted((a, b) => a - b)).toEqual([0, (await readMigrations()).length]);
});

test("`upTo` stops early, and the next run continues from there", async () => {
  const database = await emptyDatabase();
  expect(await migrate(database.connection, 0)).toEqual([]);
  expect(await appliedNumbers(database)).toEqual([]);
  expect(await migrate(database.connection)).toHaveLength((await readMigrations()).length);
});

test("a database of a newer version is refused and not changed", async () => {
  const database = await emptyDatabase();
  await migrate(database.connection);
  await query(database, "insert into schema_migration (number, name) values (9999, 'from_the_future')");
  await expect(migrate(database.connection)).rejects.toThrow(/at migration 9999, this version of Headgate knows \d+/);
  expect(await appliedNumbers(database)).toContain(9999);
});

test("a failed migration is rolled back and reported, and can be tried again", async () => {
  const database = await emptyDatabase();
  await query(database, "create table audit_event (stands_in_the_way text)");
  await expect(migrate(database.connection)).rejects.toThrow(/migration 1 .* failed and was undone/);
  expect(await query(database, "select 1 from pg_tables where tablename = 'account'")).toEqual([]);
  await query(database, "drop table audit_event");
  expect(await migrate(database.connection)).not.toEqual([]);
});
