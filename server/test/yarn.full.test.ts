import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { newKey, writeKeys } from "../src/lib/key-ring.ts";
import { startMiniYarn, type MiniYarn } from "./mini-hadoop/mini-hadoop.ts";
import { because, NO_EXECUTORS } from "./skip-reasons/skip-reasons.ts";
import { findSparkHome, SET_UP_MS } from "./support/connect-server.ts";
import { executorsAreMissing } from "./support/spark-missing.ts";
import { AccountClient } from "./support/given.ts";
import { startNode, type NodeProcess } from "./support/node-process.ts";
import { foundSparkAccount, SPARK_SETTINGS } from "./support/spark-server.ts";
import { statusOf } from "./support/spark.ts";
import { cloneDatabase, type TestDatabase } from "./support/test-database.ts";

const RUN_MS = 300_000;
const OPTIONS = { timeout: RUN_MS, ...because(NO_EXECUTORS) };
const PATIENCE = { timeout: RUN_MS, interval: 250 };
const email = "yarn@example.test";

/** For a cluster whose machines have Spark; on the other cluster Headgate has to send Spark. */
const sparkDefaults = (sparkHome: string): string => `
spark.driver.host          127.0.0.1
spark.driver.bindAddress   127.0.0.1
spark.executor.instances   1
spark.executor.memory      512m
spark.yarn.am.memory       512m
spark.yarn.jars            local:${sparkHome}/jars/*
`;

const python = `
import os
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
print(spark.sparkContext.master, spark.sparkContext.applicationId)
print(spark.sparkContext.parallelize(range(4), 2).map(lambda n: os.environ["CONTAINER_ID"]).first())
print(spark.table("there.made").selectExpr("sum(id)").first()[0])
`;

/** Its classes have to reach the executors. */
const scala = `
case class Pair(key: String, size: Int)
val by = 3
println(Seq(Pair("a", 1), Pair("b", 2)).toDS.repartition(2).map(pair => pair.size * by).collect().sum)
`;

const endless = `
import time
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
spark.sparkContext.parallelize(range(2), 2).map(lambda n: time.sleep(600)).count()
`;

describe.skipIf(executorsAreMissing)("on a YARN cluster that the operator has configured", OPTIONS, () => {
  const folder = mkdtempSync(join(tmpdir(), "headgate-yarn-"));
  let yarn: MiniYarn;
  let database: TestDatabase;
  let node: NodeProcess;
  let account: AccountClient;

  beforeAll(async () => {
    chmodSync(folder, 0o711);
    const { cacheDir } = inject("postgres");
    const home = await findSparkHome(cacheDir);
    yarn = await startMiniYarn(home, cacheDir);
    const defaults = sparkDefaults(home.folder);
    const confs = {
      mini: addConf("mini", { "spark-defaults.conf": defaults }),
      bare: addConf("bare", { "spark-defaults.conf": defaults.replace(/^spark\.yarn\.jars.*$/m, "") }),
      away: addConf("away", { "yarn-site.xml": nobodyThere("yarn-site.xml") }),
      fileless: addConf("fileless", { "core-site.xml": nobodyThere("core-site.xml") }),
    };
    database = await cloneDatabase();
    writeKeys(join(folder, "keys"), [newKey([])]);
    const { accountId, token } = await foundSparkAccount(database.connection, email);
    node = await startNode(folder, database.connection, {
      HEADGATE_CACHE_DIR: cacheDir,
      ...SPARK_SETTINGS,
      HEADGATE_HADOOP_CONFS: Object.entries(confs)
        .map((pair) => pair.join("="))
        .join(","),
    });
    account = new AccountClient(node.url, token, accountId, email);
    for (const name of Object.keys(confs)) {
      await account.post("/api/v2/clusters", { labels: [name], engine: { type: "yarn", hadoop_conf: name } });
    }
  }, SET_UP_MS);

  afterAll(async () => {
    await node.stopEverything();
    await yarn.stop();
    await database.drop();
    rmSync(folder, { recursive: true, force: true });
  }, 120_000);

  const nobodyThere = (name: string): string =>
    readFileSync(join(yarn.confFolder, name), "utf8").replaceAll(/[\w.]+:\d+</g, "127.0.0.1:1<");

  function addConf(name: string, files: Record<string, string>): string {
    const conf = join(folder, name);
    cpSync(yarn.confFolder, conf, { recursive: true });
    for (const [file, text] of Object.entries(files)) writeFileSync(join(conf, file), text);
    return conf;
  }

  async function submit(label: string, more: Record<string, unknown>): Promise<number> {
    const { id } = await account.post("/commands", { command_type: "SparkCommand", label, ...more });
    return id;
  }

  /** The result of a command that is done, the log of any other. */
  async function endOf(id: number, end = "done"): Promise<string> {
    await expect.poll(() => statusOf(account, id), PATIENCE).toMatch(/^(done|error|cancelled)$/);
    const { error_log: log } = await account.get(`/commands/${id}/error_logs`);
    expect(await statusOf(account, id), log).toBe(end);
    return end === "done" ? (await account.get(`/commands/${id}/results`)).results : log;
  }

  const running = async (): Promise<string[]> =>
    (await yarn.applications())
      .filter(({ state }) => !["FINISHED", "KILLED", "FAILED"].includes(state))
      .map(({ name }) => name);

  it("queries and programs have their executors on it, and share its tables", async () => {
    const make = `create schema there location '${yarn.uri}/there';
      create table there.made using parquet as select id from range(0, 1000, 1, 2);
      select count(*), max(id) from there.made`;
    expect(await endOf(await submit("mini", { sql: make }))).toBe("1000\t999\r\n");
    const listed = await fetch(`${yarn.webHdfs}/there/made?op=LISTSTATUS`);
    expect(await listed.text()).toMatch(/part-0000[01].*parquet/);

    const id = await submit("mini", { language: "python", program: python });
    const [, applicationId = ""] = /^yarn (\S+)\n/.exec(await endOf(id)) ?? [];
    const { results } = await account.get(`/commands/${id}/results`);
    const container = `container_${applicationId.replace("application_", "")}_01_\\d{6}`;
    expect(results).toMatch(new RegExp(`^yarn ${applicationId}\n${container}\n499500\n$`));
    expect(await account.get(`/commands/${id}`)).toMatchObject({ progress: 100 });
    const jobs = await account.get(`/commands/${id}/jobs`);
    expect(jobs.at(-1)).toMatchObject({ job_stats: { status: "succeeded" } });
    const told = (await yarn.applications()).find((each) => each.id === applicationId);
    expect(told).toMatchObject({ name: "program.py", user: `account${account.accountId}`, state: "FINISHED" });
    expect(told?.applicationTags).toContain(`command-${id}`);
  });

  it("whose machines have no Spark it is uploaded once, for this account only", async () => {
    const user = `account${account.accountId}`;
    const folder = `${yarn.webHdfs}/user/${user}/.headgate-${user}`;
    const sent = async (): Promise<unknown> => (await fetch(`${folder}?op=LISTSTATUS`)).json();
    expect(await endOf(await submit("bare", { language: "scala", program: scala }))).toBe("9\n");
    const first = await sent();
    const archive = { owner: user, pathSuffix: expect.stringMatching(/^spark-.*\.zip$/) };
    expect(first).toMatchObject({ FileStatuses: { FileStatus: [archive] } });
    const folderStatus = await (await fetch(`${folder}?op=GETFILESTATUS`)).json();
    expect(folderStatus).toMatchObject({ FileStatus: { owner: user, permission: "700" } });

    const id = await submit("bare", { language: "python", program: endless });
    await expect.poll(async () => (await account.get(`/commands/${id}/jobs`)).length, PATIENCE).toBe(1);
    expect(await running()).toContain("program.py");
    expect(await sent()).toEqual(first);
    await account.put(`/commands/${id}`, { status: "kill" });
    await endOf(id, "cancelled");
    await expect.poll(running, PATIENCE).not.toContain("program.py");
  });

  it("no application remains after the cluster is terminated", async () => {
    expect(await running()).toEqual(["headgate-sql"]);
    await account.put("/api/v2/clusters/mini/state", { state: "terminate" });
    await expect.poll(running, PATIENCE).toEqual([]);
  });

  it("a command ends as an error with the reason if a part of the cluster does not respond", async () => {
    const program = await submit("away", { language: "python", program: "print(1)" });
    const query = await submit("away", { sql: "select 1" });
    const withoutFiles = await submit("fileless", { language: "python", program: "print(1)" });
    const evading = await submit("away", { language: "python", program: "print(1)", arguments: "--master local[1]" });
    const refused = ".*:1 failed on connection exception";
    const reason = new RegExp(`the ResourceManager of YARN does not answer: ${refused}`);
    expect(await endOf(program, "error")).toMatch(reason);
    expect(await endOf(query, "error")).toMatch(reason);
    const other = new RegExp(`the file system of YARN cannot be used: ${refused}`);
    expect(await endOf(withoutFiles, "error")).toMatch(other);
    expect(await endOf(evading, "error")).toMatch(/^headgate: --master is set by the server: ignored\n/);
  });
});
