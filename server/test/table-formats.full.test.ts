import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished, vi } from "vitest";
import { FormatJars } from "../src/engines/table-formats/format-jars.ts";
import { useSeaweedFs } from "./seaweedfs/seaweedfs.ts";
import { because, NO_EXECUTORS } from "./skip-reasons/skip-reasons.ts";
import { findSparkHome, SET_UP_MS } from "./support/connect-server.ts";
import { executorsAreMissing, sparkIsMissing } from "./support/spark-missing.ts";
import { AccountClient } from "./support/given.ts";
import { runSparkProgram } from "./support/spark-program.ts";
import { foundSparkAccount } from "./support/spark-server.ts";
import { runSql, useSpark } from "./support/spark.ts";
import { startStandaloneCluster, type StandaloneCluster } from "./support/standalone-cluster.ts";
import { waitForCommandEnd } from "./support/wait-for-command-end.ts";

const FORMATS = { table_formats: ["delta", "iceberg"] };
const LOCAL = { engine: { type: "local" }, ...FORMATS };
const PATIENCE = { timeout: 240_000, interval: 500 };
const WRITERS = 6;

describe.skipIf(sparkIsMissing)("the jars of a table format", () => {
  it(
    "are downloaded into an empty cache once for all who wait, after a failure too",
    { timeout: 600_000 },
    async () => {
      const home = await findSparkHome(inject("postgres").cacheDir);
      const cacheDir = mkdtempSync(join(tmpdir(), "headgate-formats-"));
      onTestFinished(() => rmSync(cacheDir, { recursive: true }));
      let now = 0;
      const jars = new FormatJars({ cacheDir, log: pino({ enabled: false }), now: () => now });
      const broken = { ...home, java: { ...home.java, path: "/bin/false" } };
      await expect(jars.provide("delta", broken)).rejects.toThrow(
        /^Delta Lake cannot be set up: .*\(exit code 1\)\. It is tried again after a minute$/,
      );
      expect(readdirSync(cacheDir)).toEqual(["table-formats.lock"]);
      now = 59_000;
      await expect(jars.provide("delta", home)).rejects.toThrow("It is tried again after a minute");
      now = 60_000;
      const giveUp = (): never => {
        throw new Error("gives up");
      };
      await expect(jars.provide("delta", home, giveUp)).rejects.toThrow("gives up");
      expect(readdirSync(cacheDir)).toEqual(["table-formats.lock"]);
      const [one, other] = await Promise.all([jars.provide("delta", home), jars.provide("delta", home)]);
      expect(one).toEqual(other);
      const modules = readdirSync(one.pythonPath ?? "", { recursive: true, encoding: "utf8" });
      expect(modules).toContain("delta/tables.py");
      expect(modules.some((name) => /^delta\/__pycache__\/tables\..*\.pyc$/.test(name))).toBe(true);
      expect(one.jars.some((path) => path.includes("/delta-spark_4.1_2.13-4.4.0.jar"))).toBe(true);
      let waited = false;
      expect(await jars.provide("delta", broken, () => (waited = true))).toEqual(one);
      expect(waited).toBe(false);
      await expect(jars.provide("iceberg", { ...home, version: "4.0.1" })).rejects.toThrow(
        "Apache Iceberg needs Spark 4.1, and the Spark of this node is 4.0.1",
      );
    },
  );
});

describe.skipIf(sparkIsMissing)("a program on a cluster with table formats", () => {
  const spark = useSpark();
  const LAKE = { label: "formats-of-programs" };

  beforeAll(async () => {
    await spark.account.post("/api/v2/clusters", { labels: [LAKE.label], ...LOCAL });
  });
  afterAll(async () => {
    await spark.account.put(`/api/v2/clusters/${LAKE.label}/state`, { state: "terminate", force: true });
  });

  const PROGRAM = `import sys
from delta.tables import DeltaTable
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
name = "of_program_" + sys.argv[1]
rows = spark.createDataFrame([(1, "a"), (2, "b")], "id int, name string")
rows.write.format("delta").saveAsTable(name)
table = DeltaTable.forName(spark, name)
table.update("id = 1", {"name": "'c'"})
more = spark.createDataFrame([(2, "d"), (3, "e")], "id int, name string")
table.alias("t").merge(more.alias("s"), "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
print([tuple(row) for row in spark.table(name).orderBy("id").collect()])
print(spark.sql(f"select count(*) from {name} version as of 0").first()[0])
rows.writeTo(f"iceberg.default.i_{name}").create()
spark.sql(f"update iceberg.default.i_{name} set name = 'c' where id = 1")
print([tuple(row) for row in spark.table(f"iceberg.default.i_{name}").orderBy("id").collect()])
print(spark._jvm.java.lang.System.getProperty("sun.java.command").split()[0])
`;
  const OUTPUT = "[(1, 'c'), (2, 'd'), (3, 'e')]\n2\n[(1, 'c'), (2, 'b')]\n";

  it("uses them in Python, and by a driver that waited for it", { timeout: 600_000 }, async () => {
    let round = 0;
    const run = async (): Promise<string> => {
      round += 1;
      return runSparkProgram(spark.account, PROGRAM, { ...LAKE, arguments: "", user_program_arguments: String(round) });
    };
    expect(await run()).toBe(`${OUTPUT}headgate.driver.Driver\n`);
    // A driver for the next program starts after the first.
    await expect.poll(run, PATIENCE).toBe(`${OUTPUT}headgate.standby.StandbyDriver\n`);
  });

  it("uses them in Scala, whatever its own arguments say about them", { timeout: 600_000 }, async () => {
    const program = `spark.range(3).write.format("delta").saveAsTable("of_scala")
println(io.delta.tables.DeltaTable.forName("of_scala").toDF.count())
spark.sql("create table iceberg.default.i_of_scala using iceberg as select 7 as n")
println(spark.table("iceberg.default.i_of_scala").first().getInt(0))`;
    const { id } = await spark.account.post("/commands", {
      command_type: "SparkCommand",
      language: "scala",
      program,
      arguments: "--conf spark.sql.extensions=com.example.Spy --conf spark.sql.catalog.iceberg.io-impl=com.example.Spy",
      ...LAKE,
    });
    const { status } = await waitForCommandEnd(spark.account, id);
    const { error_log: log } = await spark.account.get(`/commands/${id}/error_logs`);
    expect(status, log).toBe("done");
    expect(log).toContain("spark.sql.extensions is set by the server: ignored");
    expect(log).toContain("spark.sql.catalog.iceberg.io-impl is set by the server: ignored");
    expect((await spark.account.get(`/commands/${id}/results`)).results).toBe("3\n7\n");
  });

  it("fails without them, and the reason names the setting", { timeout: 600_000 }, async () => {
    const program = `from pyspark.sql import SparkSession
SparkSession.builder.getOrCreate().range(3).write.format("delta").saveAsTable("of_none")`;
    const body = { command_type: "SparkCommand", language: "python", program, arguments: "--driver-memory 1g" };
    const { id } = await spark.account.post("/commands", body);
    await waitForCommandEnd(spark.account, id);
    const { error_log: log } = await spark.account.get(`/commands/${id}/error_logs`);
    expect(log).toMatch(/DATA_SOURCE_NOT_FOUND.*add "delta" to table_formats of the cluster/);
  });
});

describe.skipIf(sparkIsMissing)("several Sparks that write to one table at the same time", () => {
  const spark = useSpark();
  const LABELS = ["writers-1", "writers-2"];

  beforeAll(async () => {
    for (const label of LABELS) await spark.account.post("/api/v2/clusters", { labels: [label], ...LOCAL });
  });
  afterAll(async () => {
    for (const label of LABELS) {
      await spark.account.put(`/api/v2/clusters/${label}/state`, { state: "terminate", force: true });
    }
  });

  it.each([
    ["delta", "default.shared_delta"],
    ["iceberg", "iceberg.default.shared_iceberg"],
  ])("lose no row of %s", { timeout: 600_000 }, async (format, table) => {
    const [first = ""] = LABELS;
    await runSql(spark.account, `create table ${table} (writer int) using ${format}`, { label: first });
    const writes = Array.from({ length: 2 * WRITERS }, async (_, writer) => {
      const sql = `insert into ${table} values (${writer})`;
      const label = LABELS[writer % 2];
      const { id } = await spark.account.post("/commands", { command_type: "SparkCommand", sql, label });
      return [writer, (await waitForCommandEnd(spark.account, id)).status] as const;
    });
    const ended = await Promise.all(writes);
    const done = ended.flatMap(([writer, status]) => (status === "done" ? [writer] : []));
    expect(done.length).toBeGreaterThanOrEqual(WRITERS); // a writer that meets too many others may give up
    const { id } = await runSql(spark.account, `select writer from ${table} order by writer`, { label: first });
    const { results } = await spark.account.get(`/commands/${id}/results`);
    expect(results).toBe(done.map((writer) => `${writer}\r\n`).join(""));
  });
});

describe.skipIf(executorsAreMissing)("table formats on a standalone cluster with S3", because(NO_EXECUTORS), () => {
  const spark = useSpark();
  const seaweedFs = useSeaweedFs();
  const CLUSTER = { label: "formats-standalone" };
  let cluster: StandaloneCluster;
  let account: AccountClient;

  beforeAll(async () => {
    cluster = await startStandaloneCluster(await findSparkHome(inject("postgres").cacheDir));
    const email = `${randomBytes(4).toString("hex")}@example.test`;
    const { accountId, token } = await foundSparkAccount(spark.connection, email);
    account = new AccountClient(spark.url, token, accountId, email);
    const { endpoint, region, credentials } = seaweedFs;
    const settings = { defloc: `s3://${await seaweedFs.bucket()}/`, storage_endpoint: endpoint, aws_region: region };
    const keys = { storage_access_key: credentials.accessKeyId, storage_secret_key: credentials.secretAccessKey };
    await account.put("/api/v2/accounts", { account: { ...settings, ...keys } });
    const engine = { type: "standalone", master_url: cluster.masterUrl, token: cluster.secret };
    const spark_config = { "spark.executor.cores": "1", "spark.executor.memory": "512m" };
    await account.post("/api/v2/clusters", { labels: [CLUSTER.label], engine, spark_config, ...FORMATS });
  }, SET_UP_MS);
  afterAll(async () => {
    await account.put(`/api/v2/clusters/${CLUSTER.label}/state`, { state: "terminate", force: true });
    await vi.waitFor(async () => {
      expect((await account.get(`/api/v2/clusters/${CLUSTER.label}/state`)).state).toBe("DOWN");
    }, PATIENCE);
    await cluster.stop();
  }, 300_000);

  it.each([
    ["delta", "default.on_s3_delta"],
    ["iceberg", "iceberg.default.on_s3_iceberg"],
  ])("writes, merges and reads tables of %s with executors elsewhere", { timeout: 600_000 }, async (format, table) => {
    const { id } = await runSql(
      account,
      `create table ${table} using ${format} as select id, id % 7 as k from range(0, 1000, 1, 4);
       merge into ${table} t using (select 3L id union all select 5000L) s on t.id = s.id
         when matched then update set k = 70 when not matched then insert (id, k) values (s.id, 71);
       select count(*), sum(k), max(id) from ${table}`,
      CLUSTER,
    );
    const { results } = await account.get(`/commands/${id}/results`);
    const sum = Array.from({ length: 1000 }, (_, row) => (row === 3 ? 70 : row % 7)).reduce((all, k) => all + k, 71);
    expect(results).toBe(`1001\t${sum}\t5000\r\n`);
    const program = `from pyspark.sql import SparkSession
print(SparkSession.builder.getOrCreate().table("${table}").count())`;
    expect(await runSparkProgram(account, program, CLUSTER)).toBe("1001\n");
  });
});
