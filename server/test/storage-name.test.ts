import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { sparkIsMissing } from "./support/spark-missing.ts";
import { runSql, useSpark } from "./support/spark.ts";
import { putStorageFile } from "./support/storage-files.ts";

const own = (): string => `n${randomBytes(4).toString("hex")}`;

/**
 * `storage-name.full.test.ts` has other stores, programs and clusters elsewhere; `tables.test.ts` of `catalog/metastores/`
 * has a program that looks for the files of another account.
 */
describe.skipIf(sparkIsMissing)("the name storage:/ in Spark", () => {
  const spark = useSpark();
  const folder = own();
  const long = (name: string): string => `file:${spark.dataDir}/accounts/${spark.accountId}/storage/${name}`;
  const resultOf = async (sql: string): Promise<string> => {
    const { id } = await runSql(spark.account, sql);
    return (await spark.account.get(`/commands/${id}/results`)).results;
  };

  it("names the files of the account in queries", async () => {
    putStorageFile(spark.dataDir, spark.accountId, `${folder}/in/orders.csv`, "id,amount\n1,10\n2,20\n");
    const at = `storage:/${folder}`;
    expect(
      await resultOf(
        `select sum(amount), max(file)
         from (select *, input_file_name() as file from csv.\`${at}/in/orders.csv\` as t(id, amount) where id != 'id')`,
      ),
    ).toBe(`30.0\t${long(`${folder}/in/orders.csv`).replace("file:", "file://")}\r\n`);
    expect(
      await resultOf(
        `insert overwrite directory '${at}/out' using json select /*+ repartition(2) */ id, id % 2 as k from range(6);
         create temporary view back using json options (path 'storage:///${folder}/out');
         select sum(id), count(*) from back`,
      ),
    ).toBe("15\t6\r\n");
  });

  it("gives schemas, tables and partitions their long addresses in the catalog", async () => {
    const [schema, at] = [own(), `storage:/${folder}`];
    const locations = async (table: string): Promise<string> =>
      (await spark.account.get(`/hive/${schema}/${table}/table_properties`)).location;
    await runSql(
      spark.account,
      `create schema ${schema} location '${at}/schema';
       use ${schema};
       create table inside using parquet as select 1 as n;
       create table orders (id int, amount int) using csv options (header true) location '${at}/in';
       create table by_option (n int) using parquet options (path '${at}/by_option');
       create table made using parquet location '${at}/made' as select sum(amount) as total from orders;
       create table hive_text (n int) stored as parquet location '${at}/hive';
       create table alike like orders location '${at}/alike';
       create table days (n int) partitioned by (day string) stored as parquet;
       alter table days add partition (day = 'one') location '${at}/one';
       insert into days partition (day = 'one') values (1);
       insert into hive_text values (3);
       alter table by_option set location '${at}/moved';
       insert into by_option values (4)`,
    );
    for (const [table, name] of Object.entries({
      inside: "schema/inside",
      orders: "in",
      by_option: "moved",
      made: "made",
      hive_text: "hive",
      alike: "alike",
    })) {
      expect(await locations(table), table).toMatch(new RegExp(`^file:(//)?${spark.dataDir}/.*/${folder}/${name}$`));
    }
    expect(await spark.account.get(`/hive/${schema}/days/partitions`)).toEqual([
      { PART_NAME: "day=one", LOCATION: long(`${folder}/one`) },
    ]);
    expect(
      await resultOf(
        `use ${schema}; select total, (select sum(n) from days), (select sum(n) from hive_text), (select sum(n) from by_option), (select sum(n) from inside) from made`,
      ),
    ).toBe("30\t1\t3\t4\t1\r\n");
    const described = await resultOf(`use ${schema}; describe extended orders`);
    expect(described).toContain(long(`${folder}/in`));
    expect(described).not.toContain("storage:/");
    await runSql(spark.account, `drop schema ${schema} cascade`);
  });

  it("is refused when it names a host or leaves the storage, and says what a missing file is", async () => {
    for (const [path, reason] of [
      ["storage://orders.csv", "it names a host: write storage:/ and then the path"],
      ["storage:/../2/storage/orders.csv", "must not contain '..'"],
      [`storage:/${folder}/missing.csv`, `Path does not exist: ${long(`${folder}/missing.csv`)}`],
    ] as const) {
      const { id } = await runSql(spark.account, `select * from csv.\`${path}\``, {}, "error");
      const { error_log: log } = await spark.account.get(`/commands/${id}/error_logs`);
      expect(log).toContain(reason);
      expect(log).not.toContain("PUT /api/v2/files");
    }
  });
});
