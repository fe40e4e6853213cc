import { randomBytes } from "node:crypto";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { useServer } from "../../../test/support/given.ts";
import { runSql, useSpark } from "../../../test/support/spark.ts";
import { metastoreName } from "../metastores/metastore-names.ts";

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

  test("of a table that is not there nobody waits", async () => {
    const account = await given.account();
    await account
      .post("/partition_sensor", { ...asked, wait_seconds: 300 })
      .refused(422, /^Table can't be found in metastore$/);
  });
});

describe.skipIf(sparkIsMissing)("who waits for a partition", () => {
  const spark = useSpark();
  const schema = `awaited_${randomBytes(4).toString("hex")}`;
  let metastore: Client;

  beforeAll(async () => {
    await runSql(
      spark.account,
      `create schema ${schema}; create table ${schema}.t (id int, dt date) using parquet partitioned by (dt)`,
    );
    const { connection, accountId } = spark;
    metastore = new Client({ ...connection, database: metastoreName(connection.database ?? "", accountId) });
    await metastore.connect();
  });
  afterAll(() => metastore?.end());

  const ask = (values: string[], seconds: number) =>
    spark.account.post("/partition_sensor", {
      schema,
      table: "t",
      columns: [{ column: "dt", values }],
      wait_seconds: seconds,
    });
  /** How often the tables of partitions have been looked into: every question looks up its table's columns once. */
  const looks = async (): Promise<number> => {
    const { rows } = await metastore.query<{ scans: number }>(
      `select (seq_scan + coalesce(idx_scan, 0))::int as scans from pg_stat_user_tables where relname = 'PARTITION_KEYS'`,
    );
    return rows[0]?.scans ?? Number.NaN;
  };

  test("is told as soon as somebody inserts into it", async () => {
    const waiting = ask(["2026-01-01"], 60).reply();
    await runSql(spark.account, `insert into ${schema}.t values (1, date'2026-01-01')`);
    const inserted = performance.now();
    expect((await waiting).text).toBe('{"status":"true"}');
    expect(performance.now() - inserted).toBeLessThan(30_000);
  });

  test("is told at once when it is there, and false when the time is over", async () => {
    expect(await ask(["2026-01-01"], 300)).toEqual({ status: "true" });
    const began = performance.now();
    expect(await ask(["2030-01-01"], 1)).toEqual({ status: "false" });
    expect(performance.now() - began).toBeGreaterThanOrEqual(990);
  });

  test("is refused when the table goes meanwhile", async () => {
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

  test("costs nothing beside others who wait for the same", async () => {
    const before = await looks();
    const waiting = Array.from({ length: 150 }, () => ask(["2026-03-01"], 60).reply());
    expect(await ask(["2030-03-01"], 5)).toEqual({ status: "false" });
    // Two looks a second, and what other tests do meanwhile; each on its own would have been 150 looks a second.
    await expect.poll(async () => (await looks()) - before).toBeGreaterThanOrEqual(4);
    expect((await looks()) - before).toBeLessThan(300);
    await runSql(spark.account, `insert into ${schema}.t values (1, date'2026-03-01')`);
    const texts = await Promise.all(waiting.map(async (reply) => (await reply).text));
    expect(new Set(texts)).toEqual(new Set(['{"status":"true"}']));
  });

  test("holds no connection of the metastore's database", async () => {
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
    // Others of the account come through meanwhile.
    for (let round = 0; round < 20; round += 1) expect(await ask(["2026-01-01"], 0)).toEqual({ status: "true" });
    client.abort();
    expect((await settled).every(({ status }) => status === "rejected")).toBe(true);
  });
});
