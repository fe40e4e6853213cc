import { randomBytes } from "node:crypto";
import { describe, expect, inject, it } from "vitest";
import type { ObjectStore } from "../src/object-store/object-store.ts";
import { hdfsStore } from "../src/object-store/hdfs/hdfs-store.ts";
import { s3Store } from "../src/object-store/s3/s3-store.ts";
import { startMiniHdfs } from "./mini-hadoop/mini-hadoop.ts";
import { storageSettings, useSeaweedFs } from "./seaweedfs/seaweedfs.ts";
import { findSparkHome, SET_UP_MS, startConnectServer } from "./support/connect-server.ts";
import { AccountClient } from "./support/given.ts";
import { executorsAreMissing, sparkIsMissing } from "./support/spark-missing.ts";
import { runSparkProgram } from "./support/spark-program.ts";
import { foundSparkAccount } from "./support/spark-server.ts";
import { runSql, useSpark } from "./support/spark.ts";
import { startStandaloneCluster } from "./support/standalone-cluster.ts";
import { putStorageFile } from "./support/storage-files.ts";
import { waitForCommandEnd } from "./support/wait-for-command-end.ts";

const HINT = "upload it with PUT /api/v2/files/";

/** `storage-name.test.ts` has the queries and a program on the server's disk. */
describe.skipIf(sparkIsMissing)("the name storage:/", () => {
  const spark = useSpark();
  const seaweedFs = useSeaweedFs();
  const checkAddress = (): null => null;

  async function newAccount(settings: Record<string, string> = {}): Promise<AccountClient> {
    const email = `${randomBytes(4).toString("hex")}@example.test`;
    const { accountId, token } = await foundSparkAccount(spark.connection, email);
    const account = new AccountClient(spark.url, token, accountId, email);
    await account.put("/api/v2/accounts", { account: settings });
    return account;
  }

  async function onS3(): Promise<{ account: AccountClient; at: string }> {
    const at = `s3://${await seaweedFs.bucket()}/home`;
    const keys = storageSettings(seaweedFs.credentials, seaweedFs.endpoint);
    return { account: await newAccount({ ...keys, defloc: `${at}/` }), at };
  }

  async function resultOf(account: AccountClient, sql: string, more: Record<string, unknown> = {}): Promise<string> {
    const { id } = await runSql(account, sql, more);
    return (await account.get(`/commands/${id}/results`)).results;
  }

  async function errorOf(account: AccountClient, body: Record<string, unknown>): Promise<string> {
    const { id } = await account.post("/commands", { command_type: "SparkCommand", ...body });
    await waitForCommandEnd(account, id);
    const { error, status } = await account.get(`/commands/${id}/status_with_results`);
    const { error_log: log } = await account.get(`/commands/${id}/error_logs`);
    expect(status, log).toBe("error");
    expect(log.endsWith(`\nheadgate: ${error}\n`), log).toBe(true);
    expect(log.split(HINT).length).toBe(error.split(HINT).length);
    return error;
  }

  /** Reads and writes by the name in queries and in a program, and compares with the long address. */
  async function roundTrip(account: AccountClient, at: string, store: ObjectStore): Promise<void> {
    await store.put(`${at}/in/orders.csv`, Buffer.from("id,amount\n1,10\n2,20\n"));
    await store.put(`${at}/jobs/words.py`, Buffer.from("def word():\n    return 'from a library'\n"));
    await store.put(`${at}/jobs/etl.py`, Buffer.from(etl));
    const long = at.replace("s3:", "s3a:");
    expect(
      await resultOf(
        account,
        `create schema filed location 'storage:/schemas/filed'; use filed;
         create table orders (id int, amount int) using csv options (header true) location 'storage:/in';
         create table kept using parquet location 'storage:/kept' as select * from orders;
         create table days (n int) partitioned by (day string) stored as parquet location 'storage:/days';
         insert into days partition (day = 'one') select id from orders;
         select sum(amount), max(file) from (select *, input_file_name() as file from orders)`,
      ),
    ).toBe(`30\t${long}/in/orders.csv\r\n`);
    for (const [table, folder] of Object.entries({ orders: "in", kept: "kept", days: "days" })) {
      const { location } = await account.get(`/hive/filed/${table}/table_properties`);
      expect(location).toBe(`${long}/${folder}`);
    }
    expect(await account.get("/hive/filed/days/partitions")).toEqual([
      { PART_NAME: "day=one", LOCATION: `${long}/days/day=one` },
    ]);
    const words = "--conf spark.sql.shuffle.partitions=2 --py-files storage:/jobs/words.py storage:/jobs/etl.py";
    // The first one leaves a standby driver, which takes the second one.
    for (const out of ["first", "second"]) {
      const { id } = await account.post("/commands", { command_type: "SparkCommand", cmdline: `${words} ${out}` });
      await waitForCommandEnd(account, id);
      const { error_log: log } = await account.get(`/commands/${id}/error_logs`);
      const { results } = await account.get(`/commands/${id}/results`);
      expect(results, log).toBe(`from a library\n30 2 2 ${long}/out/${out}\n`);
    }
    expect((await store.stat(`${at}/out/first/_SUCCESS`)).size).toBe(0);
  }

  it("means the account's location on S3", async () => {
    const { account, at } = await onS3();
    const store = s3Store({ ...seaweedFs, endpoint: seaweedFs.endpoint, checkAddress });
    await roundTrip(account, at, store);
    await store.close();
    // The catalog keeps the long address when the location changes.
    await account.put("/api/v2/accounts", { account: { defloc: `${at}/elsewhere` } });
    expect(await resultOf(account, "select sum(amount) from filed.orders")).toBe("30\r\n");
    expect(await errorOf(account, { sql: "select * from csv.`storage:/in`" })).toContain("/home/elsewhere/in");
  });

  it("means the account's location on HDFS", { timeout: SET_UP_MS }, async () => {
    const { cacheDir } = inject("postgres");
    const hdfs = await startMiniHdfs(await findSparkHome(cacheDir), cacheDir);
    try {
      const address = hdfs.webHdfs.replace("/webhdfs/v1", "");
      const at = `${hdfs.uri}/home`;
      const account = await newAccount({ hdfs_http_address: address, defloc: at });
      const store = hdfsStore({ address, user: `account${account.accountId}`, checkAddress, retries: 0 });
      await roundTrip(account, at, store);
      await store.close();
    } finally {
      await hdfs.stop();
    }
  });

  it.skipIf(executorsAreMissing)("is known to executors of another cluster", { timeout: SET_UP_MS }, async () => {
    const cluster = await startStandaloneCluster(await findSparkHome(inject("postgres").cacheDir));
    const { account, at } = await onS3();
    try {
      const engine = { type: "standalone", master_url: cluster.masterUrl, token: cluster.secret };
      const config = { "spark.executor.memory": "512m" };
      await account.post("/api/v2/clusters", { labels: ["elsewhere"], engine, spark_config: config });
      const program = `
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
spark.range(6).repartition(3).write.json("storage:/numbers")
print(spark.read.json("storage:/numbers").selectExpr("sum(id)").first()[0])
print(spark.sparkContext.textFile("storage:/numbers").count())
`;
      expect(await runSparkProgram(account, program, { label: "elsewhere" })).toBe("15\n6\n");
      expect(
        await resultOf(
          account,
          "create table made using parquet location 'storage:/made' as select id from range(0, 10, 1, 3); select sum(id) from made",
          { label: "elsewhere" },
        ),
      ).toBe("45\r\n");
      const { location } = await account.get("/hive/default/made/table_properties");
      expect(location).toBe(`${at.replace("s3:", "s3a:")}/made`);
    } finally {
      await account.put("/api/v2/clusters/elsewhere/state", { state: "terminate", force: true });
      await expect.poll(async () => (await account.get("/api/v2/clusters/elsewhere/state")).state).toBe("DOWN");
      await cluster.stop();
    }
  });

  it("is an error that says so on a cluster of the type connect", { timeout: SET_UP_MS }, async () => {
    const server = await startConnectServer(await findSparkHome(inject("postgres").cacheDir));
    try {
      const engine = { type: "connect", url: `sc://${server.host}:${server.port}`, token: server.token };
      await spark.account.post("/api/v2/clusters", { labels: ["remote"], engine });
      for (const sql of [
        "select * from csv.`storage:/x.csv`",
        "create table t (n int) using csv location 'storage:/t'",
      ]) {
        expect(await errorOf(spark.account, { sql, label: "remote" })).toMatch(
          /No FileSystem for scheme "storage".*; a cluster of the type connect does not know storage:\//,
        );
      }
    } finally {
      await spark.account.put("/api/v2/clusters/remote/state", { state: "terminate", force: true });
      await server.stop();
    }
  });

  it("keeps the checkpoints of a stream", async () => {
    putStorageFile(spark.dataDir, spark.accountId, "streamed/a.txt", "one\ntwo\n");
    expect(await runSparkProgram(spark.account, stream)).toBe("2\n2\n");
  });

  it("is what the error of a hidden path names, in programs and queries", async () => {
    const read = (path: string): string => `
from pyspark.sql import SparkSession
SparkSession.builder.getOrCreate().read.csv("${path}").show()`;
    const python = { language: "python" };
    for (const [body, reason] of [
      [{ sql: "select * from csv.`/home/ada/orders.csv`" }, "PATH_NOT_FOUND"],
      [{ sql: "load data local inpath '/home/ada/orders.csv' into table nothing" }, "TABLE_OR_VIEW_NOT_FOUND"],
      [{ ...python, program: read("/home/ada/orders.csv") }, "PATH_NOT_FOUND"],
      [{ ...python, program: read("file:///home/ada/orders.csv") }, "PATH_NOT_FOUND"],
      [{ ...python, program: "open('/home/ada/orders.csv')" }, "FileNotFoundError"],
      [{ cmdline: "/home/ada/orders.csv.py" }, "can't open file"],
      [{ cmdline: "--class Main /home/ada/app.jar" }, "the jar /home/ada/app.jar does not exist"],
      [{ ...python, program: read("x.csv"), arguments: "--files /home/ada/orders.csv" }, "/home/ada/orders.csv"],
      [{ ...python, program: read("nothing.csv") }, "PATH_NOT_FOUND"],
      [{ ...python, program: "open('orders.csv')" }, "FileNotFoundError"],
    ] as const) {
      const error = await errorOf(spark.account, body);
      expect(error).toContain(reason);
      const isHidden = JSON.stringify(body).includes("/home/") && reason !== "TABLE_OR_VIEW_NOT_FOUND";
      expect(error.split(HINT), error).toHaveLength(isHidden ? 2 : 1);
    }
  });
});

const etl = `
import sys, words
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
out = sys.argv[1]
print(words.word())
orders = spark.read.csv("storage:/in", header=True, inferSchema=True)
orders.write.option("path", f"storage:/out/{out}").saveAsTable(f"out_{out}")
location = spark.sql(f"describe extended out_{out}").where("col_name = 'Location'").first().data_type
rows = spark.table(f"out_{out}")
print(rows.selectExpr("sum(amount)").first()[0], rows.count(), spark.sparkContext.textFile("storage:/in/*.csv").filter(lambda l: l[0] != "i").count(), location)
`;

const stream = `
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
def run():
    lines = spark.readStream.text("storage:/streamed")
    lines.writeStream.format("parquet").option("checkpointLocation", "storage:/checkpoint").trigger(availableNow=True) \\
        .start("storage:/stream-out").awaitTermination()
    print(spark.read.parquet("storage:/stream-out").count())
run()
run()
`;
