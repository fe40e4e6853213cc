import { inject } from "vitest";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cloneDatabase, type TestDatabase } from "../../test/support/test-database.ts";
import { openDatabase, type Database } from "./database.ts";
import { makeScratchCluster } from "../../test/support/scratch-cluster.ts";

let database: TestDatabase;
let db: Database;
let mine: number;
let other: number;

beforeAll(async () => {
  database = await cloneDatabase();
  db = openDatabase({ ...database.connection, max: 4 });
  [mine, other] = [await newAccount("mine"), await newAccount("other")];
});
afterAll(async () => {
  await db.close();
  await database.drop();
});

async function newAccount(name: string): Promise<number> {
  const [row] = await db.system.query<{ id: number }>("insert into account (name) values ($1) returning id", [name]);
  await db.system.query("insert into access_group (account_id, name) values ($1, 'g')", [row?.id]);
  return row?.id ?? 0;
}

const TABLES = `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
                 where n.nspname = 'public' and c.relkind = 'r' and c.relname <> 'schema_migration'`;

describe("row-level security", () => {
  test("is enabled on every table of the product", async () => {
    const all = await db.system.query<{ name: string }>(TABLES);
    expect(all).toContainEqual({ name: "command" });
    const rows = await db.system.query<{ name: string }>(`${TABLES} and not c.relrowsecurity`);
    expect(rows).toEqual([]);
  });

  test("shows only rows of the account, to a reader and in a transaction", async () => {
    const sql = "select distinct account_id from access_group";
    expect(await db.accountReader(mine).query(sql)).toEqual([{ account_id: mine }]);
    expect(await db.asAccount(other, (tx) => tx.query(sql))).toEqual([{ account_id: other }]);
    expect(await db.accountReader(mine).query("select id from account")).toEqual([{ id: mine }]);
  });

  test("shows no rows of any table without an account in context", async () => {
    // Tables that the role cannot read at all are left out.
    const readable = `${TABLES} and has_table_privilege('headgate_account', c.oid, 'select')`;
    const tables = await db.system.query<{ name: string }>(readable);
    expect(tables).toEqual(expect.arrayContaining([{ name: "account" }, { name: "access_group" }])); // these have rows
    for (const { name } of tables) {
      const count = await db.asSystem(async (tx) => {
        await tx.query("set local role headgate_account");
        const [row] = await tx.query<{ count: number }>(`select count(*)::int as count from ${name}`);
        return row?.count;
      });
      expect(count, name).toBe(0);
    }
  });

  test("ends with its transaction: the account is not set for the next one on the connection", async () => {
    await db.asAccount(mine, (tx) => tx.query("select 1"));
    const [row] = await db.system.query<{ setting: string; role: string }>(
      "select current_setting('headgate.account_id', true) as setting, current_user as role",
    );
    expect(row).toEqual({ setting: "", role: database.connection.user });
  });

  test("refuses rows for another account, and every row without an account", async () => {
    const insert = (tx: { query: Database["system"]["query"] }): Promise<object[]> =>
      tx.query("insert into access_group (account_id, name) values ($1, 'intruder')", [other]);
    await expect(db.asAccount(mine, insert)).rejects.toThrow(/row-level security/);
    await expect(
      db.asSystem(async (tx) => {
        await tx.query("set local role headgate_account");
        return insert(tx);
      }),
    ).rejects.toThrow(/row-level security/);
    expect(
      await db.asAccount(mine, (tx) => tx.query("delete from access_group where account_id = $1", [other])),
    ).toEqual([]);
    await db.asAccount(mine, (tx) => tx.query("update access_group set name = 'taken' where account_id = $1", [other]));
    const names = await db.system.query("select name from access_group where account_id = $1", [other]);
    expect(names).toEqual([{ name: "g" }]);
  });
});

describe("a transaction", () => {
  test("is rolled back as a whole if a statement sent without waiting fails", async () => {
    const work = db.asAccount(mine, async (tx) => {
      await tx.query("insert into access_group (name) values ('half done')");
      tx.send("insert into access_group (account_id, name) values (-1, 'fails')");
      return "reply";
    });
    await expect(work).rejects.toThrow(/row-level security/);
    expect(await db.accountReader(mine).query("select 1 from access_group where name = 'half done'")).toEqual([]);
  });

  test("fails with the error of the first statement that failed, not with that of a later one", async () => {
    const work = db.asAccount(mine, async (tx) => {
      tx.send("insert into access_group (account_id, name) values (-1, 'fails')");
      await tx.query("select 1");
    });
    await expect(work).rejects.toThrow(/row-level security/);
  });

  test("is rolled back if its work throws, and the connection stays usable", async () => {
    const failing = (): Promise<never> =>
      db.asSystem(async (tx) => {
        await tx.query("insert into account (name) values ('never')");
        throw new Error("on purpose");
      });
    for (let i = 0; i < 8; i++) await expect(failing()).rejects.toThrow("on purpose");
    expect(await db.system.query("select 1 from account where name = 'never'")).toEqual([]);
    expect(db.stats()).toMatchObject({ waiting: 0 });
  });

  test("of a reader whose statement fails returns a clean connection", async () => {
    for (let i = 0; i < 8; i++) {
      await expect(db.accountReader(mine).query("select 1/0")).rejects.toThrow(/division by zero/);
    }
    expect(await db.accountReader(mine).query("select 1 as one")).toEqual([{ one: 1 }]);
  });
});

describe("while PostgreSQL is unavailable", () => {
  test("every kind of access is a 503 fault, and works again afterwards", async () => {
    const cluster = makeScratchCluster(inject("postgres").cacheDir);
    const away = { name: "Fault", code: "unavailable", retryAfterSeconds: expect.any(Number) };
    try {
      const { socketDir, ...first } = await cluster.start();
      const pool = openDatabase({ ...first, host: socketDir, max: 2, connectionTimeoutMillis: 20_000 });
      const ways = [
        () => pool.system.query("select 1 as one"),
        () => pool.asSystem((tx) => tx.query("select 1 as one")),
      ];
      for (const way of ways) expect(await way()).toEqual([{ one: 1 }]);
      await cluster.stop();
      for (const way of ways) await expect(way()).rejects.toMatchObject(away);
      await expect(pool.accountReader(1).query("select 1")).rejects.toMatchObject(away);
      await cluster.start();
      for (const way of ways) expect(await way()).toEqual([{ one: 1 }]);
      await pool.close();
    } finally {
      await cluster.dispose();
    }
  });
});
