/** An account that has replaced the tables of its metastore by views with values of any size and type. */
import { join } from "node:path";
import type { Client } from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isExhaustive } from "../../../test/support/exhaustive.ts";
import { useServer, type AccountClient } from "../../../test/support/given.ts";
import { openKeyRing } from "../../lib/key-ring.ts";
import type { Secret } from "../../lib/secret.ts";
import { AccountCatalogs } from "./account-catalogs.ts";
import { MAX_RESULT_MIB } from "./limit-result-size.ts";
import { MetastoreDatabases } from "./metastore-databases.ts";

const given = useServer();
let account: AccountClient;
let databases: MetastoreDatabases;
let password: Secret;
let attacker: Client;

beforeEach(async () => {
  account = await given.account();
  const { connection } = given.database;
  databases = new MetastoreDatabases({ connection, isEmbedded: true });
  const catalog = await new AccountCatalogs(
    given.app.services.db.system,
    openKeyRing(join(given.dataDir, "keys")),
  ).find(account.accountId);
  if (catalog.kind !== "own") throw new Error("the account has a metastore of its own");
  ({ password } = catalog.secrets);
  await databases.provide(account.accountId, password);
  attacker = await databases.connect(account.accountId, password);
  await attacker.query(SCHEMA);
});
afterEach(() => attacker.end());

/** The tables of a metastore that are read here. */
const SCHEMA = `
  create table "DBS" ("DB_ID" bigint, "NAME" varchar, "DESC" varchar, "DB_LOCATION_URI" varchar);
  create table "TBLS" ("TBL_ID" bigint, "DB_ID" bigint, "SD_ID" bigint, "TBL_NAME" varchar, "TBL_TYPE" varchar,
    "OWNER" varchar, "CREATE_TIME" bigint);
  create table "SDS" ("SD_ID" bigint, "CD_ID" bigint, "SERDE_ID" bigint, "LOCATION" varchar, "INPUT_FORMAT" varchar);
  create table "COLUMNS_V2" ("CD_ID" bigint, "COMMENT" varchar, "COLUMN_NAME" varchar, "TYPE_NAME" text,
    "INTEGER_IDX" bigint);
  create table "PARTITION_KEYS" ("TBL_ID" bigint, "PKEY_COMMENT" varchar, "PKEY_NAME" varchar, "PKEY_TYPE" varchar,
    "INTEGER_IDX" bigint);
  create table "TABLE_PARAMS" ("TBL_ID" bigint, "PARAM_KEY" varchar, "PARAM_VALUE" text);
  create table "SERDE_PARAMS" ("SERDE_ID" bigint, "PARAM_KEY" varchar, "PARAM_VALUE" text);
  create table "PARTITIONS" ("PART_ID" bigint, "PART_NAME" varchar, "SD_ID" bigint, "TBL_ID" bigint);
  create table "PARTITION_KEY_VALS" ("PART_ID" bigint, "PART_KEY_VAL" varchar, "INTEGER_IDX" bigint);
  insert into "DBS" values (1, 'default', null, 'file:/w');
  insert into "TBLS" values (1, 1, 1, 't', 'MANAGED_TABLE', 'attacker', 0);
  insert into "SDS" values (1, 1, 1, 'file:/w/t', 'in');
  insert into "COLUMNS_V2" values (1, null, 'id', 'bigint', 0);`;

const HIVES = { columns: [{ name: "id", type: "bigint" }] };
const TOO_LONG = new RegExp(`returned more than ${MAX_RESULT_MIB} MB`);
const ROWS = MAX_RESULT_MIB + 2;
const replaced = (table: string, rows: string): string => `drop table "${table}"; create view "${table}" as ${rows}`;
/** A value of one MiB. */
const LARGE = `repeat('x', 1024 * 1024)::varchar`;

const COLUMNS = `select 1::bigint as "CD_ID", ${LARGE} as "COMMENT", n::text as "COLUMN_NAME", 'int' as "TYPE_NAME",
  n as "INTEGER_IDX" from generate_series(1, ${ROWS}) as n`;
const KEYS = `select 1::bigint as "TBL_ID", null::text as "PKEY_COMMENT", n::text as "PKEY_NAME", ${LARGE} as "PKEY_TYPE",
  n as "INTEGER_IDX" from generate_series(1, ${ROWS}) as n`;

describe("a result larger than any legitimate one is refused", () => {
  const columns = ["columns", "COLUMNS_V2", COLUMNS, ["/hive/default?describe=true", "/hive/default/t"]] as const;
  const others = [
    ["partition keys", "PARTITION_KEYS", KEYS, ["/hive/default/t/table_properties"]],
    [
      "partitions",
      "PARTITIONS",
      `select n as "PART_ID", 'p=' || lpad(n::text, 9, '0') || ${LARGE} as "PART_NAME", 1::bigint as "SD_ID",
         1::bigint as "TBL_ID" from generate_series(1, ${ROWS}) as n`,
      ["/hive/default/t/partitions"],
    ],
  ] as const;

  /** In a listing each column is a row; the columns of one table are one value. */
  test.each([columns, ...(isExhaustive ? others : [])])("%s", async (_, table, rows, paths) => {
    for (const path of paths) await account.get(path);
    await attacker.query(replaced(table, rows));
    for (const path of paths) await account.get(path).refused(422, TOO_LONG);
    expect(await account.get("/hive/default")).toEqual(["t"]);
  });

  test("in the check of a sensor", async () => {
    await attacker.query(replaced("PARTITION_KEYS", KEYS));
    const question = { schema: "default", table: "t", columns: [{ column: "1", values: ["2"] }] };
    await account.post("/partition_sensor", question).refused(422, TOO_LONG);
  });

  test("in a refresh, but not in an export", async () => {
    const long = `select ${LARGE} as large from generate_series(1, ${ROWS})`;
    const refresh = await databases.connect(account.accountId, password);
    await expect(refresh.query(long)).rejects.toMatchObject({
      code: "invalid",
      publicMessage: expect.stringMatching(TOO_LONG),
    });
    await refresh.end();
    const exported = await databases.connect(account.accountId, password, { limitMs: null });
    expect((await exported.query(long)).rowCount).toBe(ROWS);
    await exported.end();
  });

  test("but several small results on one connection are not", async () => {
    const rows = MAX_RESULT_MIB / 2 + 1;
    for (let time = 0; time < 2; time += 1) {
      expect((await attacker.query(`select ${LARGE} as large from generate_series(1, ${rows})`)).rowCount).toBe(rows);
    }
  });
});

describe("forged columns in the parameters of a table", () => {
  test("are ignored above 1 MiB, and Hive's columns are used", async () => {
    const fields = Array.from({ length: 20_000 }, (_, n) => ({
      name: `c${n}`,
      type: "long",
      nullable: true,
      metadata: {},
    }));
    const schema = schemaOf(fields);
    await keepSchema(schema.match(/.{1,4000}/g) ?? []);
    expect(schema.length).toBeGreaterThan(1024 * 1024);
    expect(await account.get("/hive/default?describe=true")).toEqual([{ t: HIVES }]);
    expect(await account.get("/hive/default/t")).toMatchObject(HIVES.columns);
  });

  test("are read as text whatever their type", async () => {
    const schema = schemaOf([{ name: "a", type: "long", nullable: true, metadata: {} }]);
    await attacker.query(
      replaced(
        "TABLE_PARAMS",
        `select 1::bigint as "TBL_ID", 'spark.sql.sources.schema' as "PARAM_KEY", '${schema}'::bytea as "PARAM_VALUE"`,
      ),
    );
    expect(await account.get("/hive/default?describe=true")).toEqual([{ t: HIVES }]);
    expect(await account.get("/hive/default/t")).toMatchObject(HIVES.columns);
  });

  const schemaOf = (fields: readonly object[]): string => JSON.stringify({ type: "struct", fields });

  async function keepSchema(parts: readonly string[]): Promise<void> {
    await attacker.query(
      `insert into "TABLE_PARAMS" select 1, 'spark.sql.sources.schema.part.' || ordinal - 1, part
         from unnest($1::text[]) with ordinality as given (part, ordinal)
       union all select 1, 'spark.sql.sources.schema.numParts', $2`,
      [parts, String(parts.length)],
    );
  }
});
