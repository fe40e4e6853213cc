/** An attacker controls the account's role in PostgreSQL, which owns the tables that we read and write. */
import { randomBytes } from "node:crypto";
import { Client } from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { cloneDatabase, type TestDatabase } from "../../../test/support/test-database.ts";
import { openDatabase, type Database } from "../../db/database.ts";
import { newKey, KeyRing } from "../../lib/key-ring.ts";
import type { Secret } from "../../lib/secret.ts";
import { accountPartitions } from "../refresh/account-partitions.ts";
import { AccountTables } from "../tables/account-tables.ts";
import { ExternalMetastores } from "../tables/external-metastores.ts";
import type { CatalogTable } from "../tables/table-catalog.ts";
import { AccountCatalogs } from "./account-catalogs.ts";
import { exportedCatalogs } from "./export-catalogs.ts";
import { MetastoreDatabases } from "./metastore-databases.ts";
import { MetastoreReaders } from "./metastore-readers.ts";

let product: TestDatabase;
let db: Database;
let databases: MetastoreDatabases;
let catalogs: AccountCatalogs;
let readers: MetastoreReaders;
let externals: ExternalMetastores;
let tables: AccountTables;
let accountId: number;
let role: string;
let password: Secret;
const keys = new KeyRing([newKey([])], () => []);

beforeAll(async () => {
  product = await cloneDatabase();
  db = openDatabase({ ...product.connection, max: 2 });
  databases = new MetastoreDatabases({ connection: product.connection, isEmbedded: true });
  catalogs = new AccountCatalogs(db.system, keys);
  readers = new MetastoreReaders({ databases, catalogs });
  externals = new ExternalMetastores([]);
  tables = new AccountTables({ system: db.system, readers, externals });
});
afterAll(async () => {
  await readers.close();
  externals.close();
  await db.close();
  await product.drop();
});

beforeEach(async () => {
  const [account] = await db.system.query<{ id: number }>(
    "insert into account (name) values ('attacker') returning id",
  );
  accountId = account?.id ?? 0;
  const catalog = await catalogs.find(accountId);
  if (catalog.kind !== "own") throw new Error("the account has a metastore of its own");
  ({ password } = catalog.secrets);
  role = (await databases.provide(accountId, password)).user;
  await asAttacker(SCHEMA);
});

/** The tables of a metastore that these tests use. */
const SCHEMA = `
  create table "DBS" ("DB_ID" bigint primary key, "NAME" varchar, "DESC" varchar, "DB_LOCATION_URI" varchar);
  create table "SDS" ("SD_ID" bigint primary key, "CD_ID" bigint, "INPUT_FORMAT" varchar, "IS_COMPRESSED" boolean,
    "IS_STOREDASSUBDIRECTORIES" boolean, "LOCATION" varchar, "NUM_BUCKETS" bigint, "OUTPUT_FORMAT" varchar,
    "SERDE_ID" bigint);
  create table "TBLS" ("TBL_ID" bigint primary key, "DB_ID" bigint, "SD_ID" bigint, "TBL_NAME" varchar);
  create table "SERDES" ("SERDE_ID" bigint, "NAME" varchar, "SLIB" varchar);
  create table "SERDE_PARAMS" ("SERDE_ID" bigint, "PARAM_KEY" varchar, "PARAM_VALUE" text);
  create table "SD_PARAMS" ("SD_ID" bigint, "PARAM_KEY" varchar, "PARAM_VALUE" text);
  create table "BUCKETING_COLS" ("SD_ID" bigint, "BUCKET_COL_NAME" varchar, "INTEGER_IDX" bigint);
  create table "SORT_COLS" ("SD_ID" bigint, "COLUMN_NAME" varchar, "ORDER" bigint, "INTEGER_IDX" bigint);
  create table "PARTITIONS" ("PART_ID" bigint primary key, "CREATE_TIME" bigint, "LAST_ACCESS_TIME" bigint,
    "PART_NAME" varchar, "SD_ID" bigint, "TBL_ID" bigint, unique ("PART_NAME", "TBL_ID"));
  create table "PARTITION_KEY_VALS" ("PART_ID" bigint, "PART_KEY_VAL" varchar, "INTEGER_IDX" bigint);
  create table "PARTITION_PARAMS" ("PART_ID" bigint, "PARAM_KEY" varchar, "PARAM_VALUE" varchar);
  create table "SEQUENCE_TABLE" ("SEQUENCE_NAME" varchar primary key, "NEXT_VAL" bigint);
  insert into "DBS" values (1, 'default', null, 'file:/w');
  insert into "SDS" values (1, 1, 'in', false, false, 'file:/w/t', -1, 'out', 1);
  insert into "TBLS" values (1, 1, 1, 't');`;

const TABLE: Pick<CatalogTable, "schema" | "name" | "partitionKeys" | "identity"> = {
  identity: "1",
  schema: "default",
  name: "t",
  partitionKeys: [{ name: "day", type: "string", comment: null }],
};

async function asAttacker(sql: string): Promise<Record<string, unknown>[]> {
  const { port } = product.connection;
  const client = new Client({ host: "127.0.0.1", port, database: role, user: role, password: password.reveal() });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Creates a function that resets the role and the settings of its session and tries to create a role. */
async function arm(): Promise<{ intruder: string }> {
  const intruder = `intruder_${randomBytes(4).toString("hex")}`;
  await asAttacker(`
    create function attack() returns text language plpgsql as $$ begin
      perform set_config('role', 'none', false), set_config('default_transaction_read_only', 'off', false),
              set_config('statement_timeout', '0', false);
      begin create role ${intruder}; exception when others then null; end;
      return session_user;
    end $$`);
  return { intruder };
}

const roleExists = async (name: string): Promise<boolean> =>
  (await db.system.query("select 1 from pg_roles where rolname = $1", [name])).length > 0;

async function addPartition(day: string): Promise<void> {
  const open = accountPartitions({ system: db.system, databases, catalogs, readers, externals });
  // The other fields are not used.
  const partitions = await open(accountId, TABLE as CatalogTable);
  const found = [{ values: [day], location: `file:/w/t/day=${day}` }];
  try {
    expect(await partitions.missing(found, AbortSignal.timeout(30_000))).toEqual(found);
    await partitions.add(found, AbortSignal.timeout(30_000));
  } finally {
    await partitions.close();
  }
}

describe("code that an account has put into its metastore's database runs only with the rights of its role", () => {
  test("as a trigger, when a refresh writes partitions", async () => {
    const { intruder } = await arm();
    await asAttacker(`
      create table seen (who text);
      create function on_write() returns trigger language plpgsql as $$ begin
        insert into seen values (attack()); return new; end $$;
      create trigger a before insert on "PARTITIONS" for each row execute function on_write();
      create trigger a before insert on "SEQUENCE_TABLE" for each row execute function on_write()`);
    await addPartition("1");
    await addPartition("2");
    expect(await asAttacker(`select "PART_NAME" as name from "PARTITIONS" order by 1`)).toEqual([
      { name: "day=1" },
      { name: "day=2" },
    ]);
    expect(await asAttacker("select distinct who from seen")).toEqual([{ who: role }]);
    expect(await roleExists(intruder)).toBe(false);
  });

  test("as a view, when tables are listed", async () => {
    const { intruder } = await arm();
    await asAttacker(`
      drop table "DBS";
      create view "DBS" as select 1::bigint as "DB_ID", attack()::varchar as "NAME", null::varchar as "DESC",
                                  null::varchar as "DB_LOCATION_URI"`);
    // The later reads use a session in which the code has already run.
    for (let time = 0; time < 4; time += 1) {
      expect(await (await tables.of(accountId)).schemaNames()).toEqual([role]);
    }
    expect(await roleExists(intruder)).toBe(false);
  });

  test("as a function, when an operator's export reads the tables", async () => {
    await arm();
    const client = new Client(product.connection);
    await client.connect();
    try {
      const exported = await exportedCatalogs(databases, client, () => keys);
      const own = await exported.find(({ name }) => name === String(accountId))?.connect();
      try {
        const rows = await own?.query("select attack() as session, current_user as current");
        expect(rows?.rows).toEqual([{ session: role, current: role }]);
      } finally {
        await own?.end();
      }
    } finally {
      await client.end();
    }
  });
});

describe("our sessions in an account's database", () => {
  test("belong to its role, are read-only for reads, and have time limits", async () => {
    const [session] = await readers.of(accountId).query(
      `select session_user::text as session, current_user::text as current, current_setting('jit') as jit,
              current_setting('default_transaction_read_only') as "readOnly",
              current_setting('statement_timeout') as "limit", current_setting('search_path') as path`,
    );
    expect(session).toEqual({
      session: role,
      current: role,
      jit: "off",
      readOnly: "on",
      limit: "1min",
      path: "public,pg_temp",
    });
    await expect(readers.of(accountId).query("create table a (n int)")).rejects.toThrow(/read-only/);
    const writer = await databases.connect(accountId, password);
    try {
      const { rows } = await writer.query(
        "select session_user::text as session, current_setting('statement_timeout') as l",
      );
      expect(rows).toEqual([{ session: role, l: "2min" }]);
    } finally {
      await writer.end();
    }
  });

  test("override the settings of the role", async () => {
    await asAttacker(`alter role current_user set statement_timeout = 0; alter role current_user set search_path = evil;
                   alter role current_user set default_transaction_read_only = off`);
    expect(await (await tables.of(accountId)).schemaNames()).toContain("default");
    await expect(readers.of(accountId).query("create table a (n int)")).rejects.toThrow(/read-only/);
  });

  test.each([
    ["another password", `password 'another'`],
    ["no right to log in", "nologin"],
  ])("are opened even if the role has %s, as after an import", async (_, change) => {
    const admin = () => db.system.query(`alter role "${role}" ${change}`);
    await admin();
    const reads = Array.from({ length: 8 }, async () => (await tables.of(accountId)).schemaNames());
    for (const names of await Promise.all(reads)) expect(names).toContain("default");
    await admin();
    await (await databases.connect(accountId, password)).end();
  });

  test("are opened even if the role has lost the right to connect to its database", async () => {
    await db.system.query(`revoke connect on database "${role}" from "${role}"`);
    expect(await (await tables.of(accountId)).schemaNames()).toContain("default");
  });

  test("find no rows if there is no database, and do not create it", async () => {
    await databases.drop(accountId);
    expect(await readers.of(accountId).query("select 1")).toEqual([]);
    expect(await roleExists(role)).toBe(false);
    await db.system.query("delete from metastore where account_id = $1", [accountId]);
    expect(await readers.of(accountId).query("select 1")).toEqual([]);
  });
});
