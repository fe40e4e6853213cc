import { randomBytes } from "node:crypto";
import type { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { useServer, type AccountClient } from "../../../test/support/given.ts";
import { runSql, useSpark } from "../../../test/support/spark.ts";
import { AccountCatalogs } from "../metastores/account-catalogs.ts";
import { MetastoreDatabases } from "../metastores/metastore-databases.ts";

describe("wait_seconds", () => {
  const given = useServer();
  const asked = { schema: "default", table: "t", columns: [{ column: "dt", values: ["2026-01-31"] }] };

  test.each([
    [301, /^wait_seconds must be at most 300/],
    [-1, /^wait_seconds must be at least 0/],
    ["soon", /^wait_seconds must be an integer/],
    [1.5, /^wait_seconds must be an integer/],
  ])("%j is refused", async (seconds, message) => {
    const account = await given.account();
    await account.post("/partition_sensor", { ...asked, wait_seconds: seconds }).refused(422, message);
  });

  test("a table that does not exist is refused without waiting", async () => {
    const account = await given.account();
    await account
      .post("/partition_sensor", { ...asked, wait_seconds: 300 })
      .refused(422, /^Table can't be found in metastore$/);
  });
});

/**
 * On a metastore database that no other test uses: the scans that PostgreSQL counts are those of this account alone.
 */
describe("requests that wait for the same partition", () => {
  const given = useServer();
  let metastore: Client;
  afterAll(() => metastore?.end());

  /** The tables that a partition sensor reads. */
  const SCHEMA = `
    create table "DBS" ("DB_ID" bigint, "NAME" varchar);
    create table "TBLS" ("TBL_ID" bigint, "DB_ID" bigint, "TBL_NAME" varchar);
    create table "PARTITION_KEYS" ("TBL_ID" bigint, "PKEY_NAME" varchar, "PKEY_TYPE" varchar, "INTEGER_IDX" bigint);
    create table "PARTITIONS" ("PART_ID" bigint, "PART_NAME" varchar, "TBL_ID" bigint);
    create table "PARTITION_KEY_VALS" ("PART_ID" bigint, "PART_KEY_VAL" varchar, "INTEGER_IDX" bigint);
    insert into "DBS" values (1, 'default');
    insert into "TBLS" values (1, 1, 't');
    insert into "PARTITION_KEYS" values (1, 'dt', 'date', 0);`;

  async function accountWithMetastore(): Promise<AccountClient> {
    const account = await given.account();
    const { db, keys } = given.app.services;
    const catalog = await new AccountCatalogs(db.system, keys).find(account.accountId);
    if (catalog.kind !== "own") throw new Error("the account has a metastore of its own");
    const { password } = catalog.secrets;
    const databases = new MetastoreDatabases({ connection: given.database.connection, isEmbedded: true });
    await databases.provide(account.accountId, password);
    metastore = await databases.connect(account.accountId, password);
    await metastore.query(SCHEMA);
    return account;
  }

  /** Every check of a question reads the keys of its table once. */
  const checks = async (): Promise<number> => {
    const { rows } = await metastore.query<{ scans: number }>(
      `select seq_scan::int as scans from pg_stat_user_tables where relname = 'PARTITION_KEYS'`,
    );
    return rows[0]?.scans ?? Number.NaN;
  };

  test("cost no more checks than one of them", async () => {
    const account = await accountWithMetastore();
    const ask = (day: string, seconds: number) =>
      account.post("/partition_sensor", {
        schema: "default",
        table: "t",
        columns: [{ column: "dt", values: [day] }],
        wait_seconds: seconds,
      });
    const before = await checks();
    const waiting = Array.from({ length: 150 }, () => ask("2026-03-01", 60).reply());
    expect(await ask("2030-03-01", 5)).toEqual({ status: "false" });
    // Two questions, each once a second. 150 requests on their own would need 150 checks a second.
    await expect.poll(async () => (await checks()) - before, { timeout: 15_000 }).toBeGreaterThanOrEqual(4);
    expect((await checks()) - before).toBeLessThan(75);
    await metastore.query(`insert into "PARTITIONS" values (1, 'dt=2026-03-01', 1)`);
    const texts = await Promise.all(waiting.map(async (reply) => (await reply).text));
    expect(new Set(texts)).toEqual(new Set(['{"status":"true"}']));
  });
});

describe.skipIf(sparkIsMissing)("a request that waits for a partition", () => {
  const spark = useSpark();
  const schema = `awaited_${randomBytes(4).toString("hex")}`;

  beforeAll(async () => {
    await runSql(
      spark.account,
      `create schema ${schema}; create table ${schema}.t (id int, dt date) using parquet partitioned by (dt)`,
    );
  });

  const ask = (values: string[], seconds: number) =>
    spark.account.post("/partition_sensor", {
      schema,
      table: "t",
      columns: [{ column: "dt", values }],
      wait_seconds: seconds,
    });

  test("is answered soon after an insert creates it", async () => {
    const waiting = ask(["2026-01-01"], 60).reply();
    await runSql(spark.account, `insert into ${schema}.t values (1, date'2026-01-01')`);
    const inserted = performance.now();
    expect((await waiting).text).toBe('{"status":"true"}');
    expect(performance.now() - inserted).toBeLessThan(30_000);
  });

  test("is answered at once if it exists, and with false when the time is over", async () => {
    expect(await ask(["2026-01-01"], 300)).toEqual({ status: "true" });
    const began = performance.now();
    expect(await ask(["2030-01-01"], 1)).toEqual({ status: "false" });
    expect(performance.now() - began).toBeGreaterThanOrEqual(990);
  });

  test("is refused when the table is dropped during the wait", async () => {
    await runSql(spark.account, `create table ${schema}.gone (id int, dt date) using parquet partitioned by (dt)`);
    const waiting = spark.account
      .post("/partition_sensor", {
        schema,
        table: "gone",
        columns: [{ column: "dt", values: ["2026-01-01"] }],
        wait_seconds: 60,
      })
      .refused(422, /^Table can't be found in metastore$/);
    await runSql(spark.account, `drop table ${schema}.gone`);
    await waiting;
  });

  test("holds no connection to the metastore's database", async () => {
    const client = new AbortController();
    const waiting = Array.from({ length: 30 }, (_, at) =>
      fetch(`${spark.url}/api/v1.2/partition_sensor`, {
        method: "POST",
        headers: { "X-AUTH-TOKEN": spark.token },
        body: JSON.stringify({
          schema,
          table: "t",
          columns: [{ column: "dt", values: [`2030-01-${at + 1}`] }],
          wait_seconds: 60,
        }),
        signal: client.signal,
      }),
    );
    const settled = Promise.allSettled(waiting);
    // Other requests of the account are answered meanwhile.
    for (let round = 0; round < 20; round += 1) expect(await ask(["2026-01-01"], 0)).toEqual({ status: "true" });
    client.abort();
    expect((await settled).every(({ status }) => status === "rejected")).toBe(true);
  });
});
