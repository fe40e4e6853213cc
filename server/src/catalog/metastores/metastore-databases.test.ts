import { randomBytes } from "node:crypto";
import { Client, type ClientConfig } from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { connectAndQuery } from "../../../test/support/scratch-cluster.ts";
import { cloneDatabase, type TestDatabase } from "../../../test/support/test-database.ts";
import { Secret } from "../../lib/secret.ts";
import { MetastoreDatabases, type MetastoreLogin } from "./metastore-databases.ts";

let database: TestDatabase;
let databases: MetastoreDatabases;
let accountId = 0;

beforeAll(async () => {
  database = await cloneDatabase();
  databases = new MetastoreDatabases({ connection: database.connection, isEmbedded: true });
});
// Each test uses an account of its own. Dropping the databases would take long, and they vanish with the server.
beforeEach(() => {
  accountId += 1;
});
afterAll(() => database.drop());

const password = new Secret("0123456789abcdef");

async function asOwner(sql: string, on = database.connection.database): Promise<Record<string, unknown>[]> {
  return connectAndQuery({ ...database.connection, database: on }, sql);
}

function asMetastore({ address: { host, port }, database: name, user, password: own }: MetastoreLogin) {
  return { host, port, database: name, user, password: own.reveal() };
}

/** Imitates an external PostgreSQL: over TCP, with a login that has only these rights. */
async function foreign(rights: string): Promise<{ login: string; connection: ClientConfig }> {
  const login = `guest_${randomBytes(4).toString("hex")}`;
  await asOwner(`create role ${login} login password 'guest' ${rights}; grant ${login} to current_user`);
  await asOwner(`grant connect on database ${database.connection.database} to ${login}`);
  const { port, database: name } = database.connection;
  return { login, connection: { connectionString: `postgres://${login}:guest@127.0.0.1:${port}/${name}` } };
}

const named = (name: string): string =>
  `select datname::text as name from pg_database where datname = '${name}'
   union all select rolname from pg_roles where rolname = '${name}'`;

describe("the database of an account's metastore", () => {
  test("is created once, with a role that may create tables in it", async () => {
    const login = await databases.provide(accountId, password);
    expect(login.database).toBe(`${database.connection.database}_metastore_${accountId}`);
    expect(login.address).toEqual({ host: "127.0.0.1", port: database.connection.port, ssl: false });
    await connectAndQuery(asMetastore(login), "create table kept (n int); insert into kept values (7)");
    await databases.provide(accountId, password);
    expect(await connectAndQuery(asMetastore(login), "select n from kept")).toEqual([{ n: 7 }]);
  });

  test("is created once for concurrent requests", async () => {
    const others = Array.from(
      { length: 4 },
      () => new MetastoreDatabases({ connection: database.connection, isEmbedded: true }),
    );
    const made = await Promise.all(others.map((each) => each.provide(accountId, password)));
    expect(new Set(made.map((login) => login.database)).size).toBe(1);
    for (const login of made) await connectAndQuery(asMetastore(login), "select 1");
  });

  test("is completed by the next call if a crash has left it incomplete", async () => {
    const name = `${database.connection.database}_metastore_${accountId}`;
    await asOwner(`create role "${name}" login password 'another'`);
    const login = await databases.provide(accountId, password);
    await connectAndQuery(asMetastore(login), "create table a (n int)");
    await asOwner(`revoke connect on database "${name}" from "${name}"`);
    await databases.provide(accountId, password);
    expect(await connectAndQuery(asMetastore(login), "select n from a")).toEqual([]);
  });

  test("admits only its own role, which can connect to no other database and has no rights on the server", async () => {
    await asOwner(`grant connect on database ${database.connection.database} to public`);
    const login = await databases.provide(accountId, password);
    const other = await databases.provide(500, password);
    for (const closed of [database.connection.database, other.database, "headgate", "postgres"]) {
      await expect(connectAndQuery({ ...asMetastore(login), database: closed }, "select 1"), closed).rejects.toThrow(
        `permission denied for database "${closed}"`,
      );
    }
    for (const [sql, refusal] of [
      ["create database mine", /permission denied to create database/],
      ["create role mine", /permission denied to create role/],
      ["set role headgate_account", /permission denied to set role/],
      [`set role ${database.connection.user}`, /permission denied to set role/],
      [`alter database "${login.database}" set work_mem = '1GB'`, /must be owner/],
      [`drop database "${other.database}"`, /must be owner/],
    ] as const) {
      await expect(connectAndQuery(asMetastore(login), sql), sql).rejects.toThrow(refusal);
    }
    await connectAndQuery(asMetastore(login), `grant connect on database "${login.database}" to public`); // a warning, no effect
    await expect(connectAndQuery({ ...asMetastore(other), database: login.database }, "select 1")).rejects.toThrow(
      "permission denied",
    );
  });

  test("is dropped with its role, even while it is in use or if it is already dropped", async () => {
    const login = await databases.provide(accountId, password);
    const held = new Client(asMetastore(login));
    const lost = new Promise((resolve) => held.once("error", resolve));
    held.on("error", () => undefined);
    await held.connect();
    await held.query("create table a (n int)");
    await databases.drop(accountId);
    expect(await lost).toMatchObject({ code: "57P01" });
    expect(await asOwner(named(login.database))).toEqual([]);
    await databases.drop(accountId);
  });

  test("is dropped if its account was deleted, a limited number at a time, and others are kept", async () => {
    for (;;) if ((await databases.dropOrphans(10)) === 0) break;
    const [account] = await asOwner("insert into account (name) values ('here') returning id::int");
    const kept = await databases.provide(Number(account?.id), password);
    const gone = [9_000_001, 9_000_002, 9_000_003];
    for (const id of gone) await databases.provide(id, password);
    const strange = `${database.connection.database}_metastore_x`;
    await asOwner(`create role "${strange}"`);
    expect(await databases.dropOrphans(2)).toBe(2);
    expect(await databases.dropOrphans(2)).toBe(1);
    expect(await databases.dropOrphans(2)).toBe(0);
    for (const id of gone) expect(await asOwner(named(`${database.connection.database}_metastore_${id}`))).toEqual([]);
    expect(await asOwner(named(kept.database))).toHaveLength(2);
    expect(await asOwner(named(strange))).toHaveLength(1);
  });
});

describe("an external PostgreSQL", () => {
  test.each([
    ["", "databases and roles", "createdb createrole"],
    ["createdb", "roles", "createrole"],
    ["createrole", "databases", "createdb"],
  ])(
    "whose user has only the rights '%s' is refused with the missing rights and the statement that grants them",
    async (rights, lacks, statement) => {
      const { login, connection } = await foreign(rights);
      const own = new MetastoreDatabases({ connection, isEmbedded: false });
      await expect(own.provide(accountId, password)).rejects.toMatchObject({
        code: "invalid",
        message: expect.stringContaining(
          `the user ${login} of DATABASE_URL may not create ${lacks}. Run as a superuser: alter role "${login}" ${statement};`,
        ),
      });
      expect(await asOwner(named(`${database.connection.database}_metastore_${accountId}`))).toEqual([]);
    },
  );

  test("is refused as long as the roles of accounts can connect to the product's database", async () => {
    const { login, connection } = await foreign("createdb createrole");
    const name = database.connection.database;
    await asOwner(`grant connect on database ${name} to public`);
    const own = new MetastoreDatabases({ connection, isEmbedded: false });
    const cure = `grant connect on database "${name}" to "${login}"; revoke connect on database "${name}" from public;`;
    await expect(own.provide(accountId, password)).rejects.toMatchObject({
      code: "invalid",
      message: expect.stringContaining(cure),
    });
    await asOwner(cure);
    const created = await own.provide(accountId, password);
    await connectAndQuery(asMetastore(created), "create table a (n int)");
    await own.drop(accountId);
    expect(await asOwner(named(created.database))).toEqual([]);
  });

  test("that cannot be reached is reported with its address", async () => {
    const connection = { connectionString: "postgres://user:hush@127.0.0.1:1/data" };
    const own = new MetastoreDatabases({ connection, isEmbedded: false });
    await expect(own.provide(accountId, password)).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(
        /user data_metastore_\d+, database data_metastore_\d+ at 127.0.0.1:1: nothing listens/,
      ),
    });
  });
});
