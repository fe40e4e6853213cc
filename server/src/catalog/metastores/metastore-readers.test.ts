import { execFileSync } from "node:child_process";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cloneDatabase, type TestDatabase } from "../../../test/support/test-database.ts";
import { openDatabase, type Database, type Queryable } from "../../db/database.ts";
import { newKey, KeyRing } from "../../lib/key-ring.ts";
import { AccountCatalogs } from "./account-catalogs.ts";
import { MetastoreDatabases } from "./metastore-databases.ts";
import { MetastoreReaders } from "./metastore-readers.ts";

let product: TestDatabase;
let db: Database;
let readers: MetastoreReaders;
let reader: Queryable;
let name: string;

beforeAll(async () => {
  product = await cloneDatabase();
  db = openDatabase({ ...product.connection, max: 2 });
  const databases = new MetastoreDatabases({ connection: product.connection, isEmbedded: true });
  const catalogs = new AccountCatalogs(db.system, new KeyRing([newKey([])], () => []));
  readers = new MetastoreReaders({ databases, catalogs });
  const [account] = await db.system.query<{ id: number }>("insert into account (name) values ('one') returning id");
  const catalog = await catalogs.find(account?.id ?? 0);
  if (catalog.kind !== "own") throw new Error("the account has a metastore of its own");
  name = (await databases.provide(account?.id ?? 0, catalog.secrets.password)).database;
  reader = readers.of(account?.id ?? 0);
});
afterAll(async () => {
  await readers.close();
  await db.close();
  await product.drop();
});

const endConnections = (): string =>
  `select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = '${name}' and usename = '${name}'`;

/** Ends them from another process while this one is blocked, so that the pool cannot notice it. */
function endConnectionsUnnoticed(): number {
  const code = `
    import { Client } from "pg";
    const client = new Client(${JSON.stringify(product.connection)});
    await client.connect();
    console.log((await client.query(${JSON.stringify(endConnections())})).rowCount);
    await client.end();`;
  const args = ["--input-type=module", "--eval", code];
  return Number(execFileSync(process.execPath, args, { cwd: import.meta.dirname, encoding: "utf8" }));
}

test("a read succeeds after PostgreSQL has closed all idle connections unnoticed", async () => {
  const slow = () => reader.query("select pg_sleep(0.1)");
  await Promise.all([slow(), slow()]);
  expect(endConnectionsUnnoticed()).toBe(2);
  const both = [1, 2].map((n) => reader.query("select $1::int as n", [n]));
  expect(await Promise.all(both)).toEqual([[{ n: 1 }], [{ n: 2 }]]);
});

test("a read succeeds even if PostgreSQL closes its connection during the read", async () => {
  const other = new Client({ ...product.connection, database: name });
  await other.connect();
  try {
    await other.query("select pg_advisory_lock(7)");
    const read = reader.query<{ n: number }>("select 7 as n from pg_advisory_xact_lock(7)");
    const waits = `select from pg_stat_activity where datname = '${name}' and wait_event = 'advisory'`;
    await expect.poll(async () => (await other.query(waits)).rowCount).toBe(1);
    await other.query(endConnections());
    await other.query("select pg_advisory_unlock(7)");
    expect(await read).toEqual([{ n: 7 }]);
  } finally {
    await other.end();
  }
});

test("a read fails as unavailable when its connection is closed again and again", async () => {
  await expect(reader.query("select pg_terminate_backend(pg_backend_pid())")).rejects.toMatchObject({
    code: "unavailable",
  });
  expect(await reader.query("select 1 as n")).toEqual([{ n: 1 }]);
});
