import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { AccountClient, useServer } from "../../../test/support/given.ts";
import { runSql, useSpark } from "../../../test/support/spark.ts";
import { foundSparkAccount } from "../../../test/support/spark-server.ts";

const PATHS = ["/partition_sensor", "/sensors/partition_sensor"];
const NO_TABLE = "Table can't be found in metastore";
const NO_TABLE_PATTERN = /^Table can't be found in metastore$/;

describe("for an account that has never used Spark", () => {
  const given = useServer();
  let account: AccountClient;
  beforeAll(async () => {
    account = await given.account();
  });
  const asked = { schema: "default", table: "t", columns: [{ column: "dt", values: ["2026-01-31"] }] };

  test.each(PATHS)("%s: no table exists", async (path) => {
    const { status, body } = await account.post(path, asked).reply();
    expect([status, body]).toEqual([422, { error: { error_code: 422, error_message: NO_TABLE } }]);
    await account.post(path, { ...asked, schema: "nowhere" }).refused(422, NO_TABLE_PATTERN);
  });

  test("members without the permission to create sensors are refused", async () => {
    await (await given.member(account)).post("/partition_sensor", asked).refused(403);
    await (await given.member(account, { groups: ["system-user"] })).post("/partition_sensor", asked).refused(422);
  });

  const column = { column: "dt", values: ["1"] };
  test.each([
    [{}, /^schema is required/],
    [{ ...asked, schema: null }, /^schema is required/],
    [{ ...asked, table: "" }, /^table must not be empty/],
    [{ ...asked, table: "x".repeat(257) }, /^table must have at most 256 characters/],
    [{ ...asked, columns: undefined }, /^columns is required/],
    [{ ...asked, columns: [] }, /^columns must not be empty$/],
    [{ ...asked, columns: "dt" }, /^columns must be an array/],
    [{ ...asked, columns: ["dt"] }, /^columns\[0\] must be an object$/],
    [{ ...asked, columns: [{ values: ["1"] }] }, /^columns\[0\]\.column is required$/],
    [{ ...asked, columns: [{ column: "dt" }] }, /^columns\[0\]\.values is required$/],
    [{ ...asked, columns: [{ column: "dt", values: [] }] }, /^columns\[0\].values must have at least one value/],
    [
      { ...asked, columns: [{ column: "dt", values: "2026" }] },
      /^columns\[0\].values must be an array of values, or a string/,
    ],
    [{ ...asked, columns: [{ column: "dt", values: 5 }] }, /^columns\[0\]\.values must be an array or a string$/],
    [
      { ...asked, columns: [{ column: "dt", values: [[1]] }] },
      /^columns\[0\]\.values\[0\] must be a string or a number/,
    ],
    [
      { ...asked, columns: [column, { ...column, column: "DT" }] },
      /^columns\[1\].column must not name dt a second time/,
    ],
    [{ ...asked, columns: Array.from({ length: 65 }, () => column) }, /^columns must have at most 64 entries/],
    [
      {
        ...asked,
        columns: ["a", "b"].map((name) => ({ column: name, values: Array.from({ length: 40 }, (_, at) => at) })),
      },
      /^columns must have at most 1000 combinations of values/,
    ],
  ])("%j is refused", async (body, message) => {
    await account.post("/partition_sensor", body).refused(422, message);
  });
});

describe.skipIf(sparkIsMissing)("on tables created by Spark", () => {
  const spark = useSpark();
  const schema = `sensed_${randomBytes(4).toString("hex")}`;

  beforeAll(async () => {
    await runSql(
      spark.account,
      `create schema ${schema};
       create table ${schema}.plain (id int) using parquet;
       create view ${schema}.seen as select 1 as one;
       create table ${schema}.days (id int, dt date, Region string, hour int) using parquet
         partitioned by (dt, Region, hour);
       insert into ${schema}.days values (1, date'2026-01-31', 'a/b=c %', 7), (2, date'2026-01-31', null, 7),
         (3, date'2026-02-01', 'Köln', 8);
       create table ${schema}.odd (id int, n decimal(10,2), f double, b boolean, ts timestamp, c string) using orc
         partitioned by (n, f, b, ts, c);
       insert into ${schema}.odd values (1, 1.5, 1, true, timestamp'2026-01-31 08:30:00', '');
       create table ${schema}.found (line string) partitioned by (hour int) stored as textfile;
       alter table ${schema}.found add partition (hour = 7)`,
    );
  });

  const ask = (table: string, columns: Record<string, unknown>) =>
    spark.account.post("/sensors/partition_sensor", {
      schema: schema.toUpperCase(),
      table,
      columns: Object.entries(columns).map(([column, values]) => ({ column, values })),
    });

  test.each<[expected: "true" | "false", columns: Record<string, unknown>]>([
    ["true", { dt: ["2026-01-31"], region: ["a/b=c %"], hour: [7] }],
    ["true", { HOUR: ["07"], Region: ["a/b=c %"], DT: "[2026-01-31]" }],
    ["true", { dt: ["2026-01-31"], region: [null], hour: [7] }],
    ["true", { dt: ["2026-01-31"], region: ["__HIVE_DEFAULT_PARTITION__", "a/b=c %"], hour: "['7']" }],
    ["false", { dt: ["2026-01-31"], region: ["A/B=C %"], hour: [7] }],
    ["false", { dt: ["2026-01-31"], region: ["a%2Fb%3Dc %25"], hour: [7] }],
    ["true", { dt: ["2026-01-31", "2026-02-01"] }],
    ["true", { dt: "[ '2026-01-31', 2026-2-1 ]" }],
    ["false", { dt: ["2026-01-31", "2026-02-02"] }],
    ["true", { hour: [7, 8] }],
    ["false", { hour: [7, 9] }],
    ["true", { region: ["Köln"] }],
    ["true", { hour: ["8"], dt: ["2026-02-01"] }],
    ["false", { hour: ["8"], dt: ["2026-01-31"] }],
    ["false", { hour: [7, 8], dt: ["2026-01-31", "2026-02-01"] }],
  ])("%s: %j", async (expected, columns) => {
    expect(await ask("days", columns)).toEqual({ status: expected });
  });

  test("values of other types are found as Spark writes them", async () => {
    const asked = { n: [1.5], f: [1], b: ["TRUE"], ts: ["2026-01-31T08:30:00"], c: [""] };
    expect(await ask("odd", asked)).toEqual({ status: "true" });
    for (const [column, values] of Object.entries(asked)) {
      expect(await ask("odd", { [column]: values }), column).toEqual({ status: "true" });
    }
    expect(await ask("odd", { ...asked, b: [false] })).toEqual({ status: "false" });
  });

  test.each([
    ["plain", { dt: ["1"] }, /^table is not partitioned/],
    ["seen", { dt: ["1"] }, /^table is not partitioned/],
    ["gone", { dt: ["1"] }, /^Table can't be found in metastore/],
    [
      "days",
      { dt: ["2026-01-31"], id: [1] },
      /^columns\[1\].column must be a partition column of the table: dt, region/,
    ],
    ["days", { dt: ["today"] }, /^columns\[0\].values\[0\] must be a date, YYYY-MM-DD: dt is of type date/],
    ["days", { hour: [7, "x"] }, /^columns\[0\].values\[1\] must be a whole number: hour is of type int/],
  ])("%s %j is refused", async (table, columns, message) => {
    await ask(table, columns).refused(422, message);
  });

  test("a partition is found as soon as it is added, and no longer found once it is dropped", async () => {
    expect(await ask("found", { hour: ["9"] })).toEqual({ status: "false" });
    await runSql(spark.account, `alter table ${schema}.found add partition (hour = 9)`);
    expect(await ask("found", { hour: ["9"] })).toEqual({ status: "true" });
    await runSql(spark.account, `alter table ${schema}.found drop partition (hour = 9)`);
    expect(await ask("found", { hour: ["9"] })).toEqual({ status: "false" });
  });

  test("another account cannot tell the table from one that does not exist", async () => {
    const { accountId, token } = await foundSparkAccount(spark.connection, `${schema}@example.test`);
    const other = new AccountClient(spark.url, token, accountId, "");
    const asked = { schema, table: "days", columns: [{ column: "dt", values: ["2026-01-31"] }] };
    const [foreign, missing] = [asked, { ...asked, table: "missing" }].map((body) =>
      other.post("/partition_sensor", body),
    );
    const refusal = await foreign?.refused(422, NO_TABLE_PATTERN);
    expect(refusal?.text).toBe((await missing?.reply())?.text);
  });

  test("a table that was recreated is checked by its new partition columns", async () => {
    await runSql(spark.account, `create table ${schema}.anew (a int, k string) using csv partitioned by (k)`);
    expect(await ask("anew", { k: ["x"] })).toEqual({ status: "false" });
    await runSql(
      spark.account,
      `drop table ${schema}.anew;
       create table ${schema}.anew (a int, k int) using csv partitioned by (k);
       insert into ${schema}.anew values (1, 5)`,
    );
    await ask("anew", { k: ["x"] }).refused(422, /^columns\[0\].values\[0\] must be a whole number/);
    expect(await ask("anew", { k: ["05"] })).toEqual({ status: "true" });
    await runSql(spark.account, `drop table ${schema}.anew`);
    await ask("anew", { k: ["05"] }).refused(422, NO_TABLE_PATTERN);
  });
});
