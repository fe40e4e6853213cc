import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { refresh } from "../../../test/support/refresh.ts";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { rowsOf, runSql, useSpark } from "../../../test/support/spark.ts";

const LAKE = { label: "lake" };

describe.skipIf(sparkIsMissing)("tables of Delta Lake and Apache Iceberg", () => {
  const spark = useSpark();

  beforeAll(async () => {
    const formats = { engine: { type: "local" }, table_formats: ["delta", "iceberg"] };
    await spark.account.post("/api/v2/clusters", { labels: ["lake"], ...formats });
  });
  afterAll(async () => {
    await spark.account.put("/api/v2/clusters/lake/state", { state: "terminate", force: true });
  });

  const rows = (sql: string): Promise<string[]> => rowsOf(spark.account, sql, LAKE);
  const columns = async (table: string): Promise<string[]> =>
    (await spark.account.get(`/hive/default/${table}`)).map(
      ({ name, type }: { name: string; type: string }) => `${name} ${type}`,
    );
  // Merges and earlier versions are in `table-versions.full.test.ts`: the first of each takes Delta many seconds.
  test.each([
    ["delta", "default.of_delta"],
    ["iceberg", "iceberg.default.of_iceberg"],
  ])("of %s are created, filled and updated", async (format, table) => {
    const changed = await rows(
      `create table ${table} (id int, name string) using ${format} partitioned by (id);
       insert into ${table} values (1, 'a'), (2, 'b');
       update ${table} set name = 'c' where id = 1;
       select * from ${table} order by id`,
    );
    expect(changed).toEqual(["1\tc", "2\tb"]);

    // The listing reads the metastore, which knows the columns, but not the partitions.
    const name = table.slice(table.lastIndexOf(".") + 1);
    expect(await columns(name)).toEqual(["id int", "name string"]);
    expect((await refresh(spark.account, name)).log).toContain("keeps its own list of files: it needs no refresh");
    const sensor = { schema: "default", table: name, columns: [{ column: "id", values: ["2"] }] };
    await spark.account.post("/sensors/partition_sensor", sensor).refused(422, /^table .*outside of the metastore/);
  });

  test("need the setting, which the error of a command names", async () => {
    const failure = async (sql: string): Promise<string> => {
      const { id } = await runSql(spark.account, sql, {}, "error");
      return (await spark.account.get(`/commands/${id}/error_logs`)).error_log;
    };
    expect(await failure("create table other (id int) using delta")).toContain('add "delta" to table_formats');
    expect(await failure("select * from iceberg.default.other")).toContain('add "iceberg" to table_formats');
  });

  test("of Iceberg are in a catalog that may not hide a schema", async () => {
    await runSql(spark.account, "create schema iceberg");
    const settings = { engine: { type: "local" }, table_formats: ["iceberg"] };
    try {
      await spark.account
        .post("/api/v2/clusters", { labels: ["hides"], ...settings })
        .refused(422, /^table_formats must not have iceberg while the account has a schema iceberg/);
      await spark.account.post("/api/v2/clusters/lake/clone", { labels: ["hides"] }).refused(422, /^table_formats/);
      await spark.account
        .put("/api/v2/clusters/default", { table_formats: ["iceberg"] })
        .refused(422, /^table_formats/);
      // What it had before stays.
      await spark.account.put("/api/v2/clusters/lake", { table_formats: ["iceberg", "delta"] });
    } finally {
      await runSql(spark.account, "drop schema iceberg");
    }
  });
});
