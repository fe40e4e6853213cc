import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { useSeaweedFs } from "./seaweedfs/seaweedfs.ts";
import { because, NO_EXECUTORS } from "./skip-reasons/skip-reasons.ts";
import { findSparkHome, SET_UP_MS } from "./support/connect-server.ts";
import { executorsAreMissing } from "./support/spark-missing.ts";
import { AccountClient } from "./support/given.ts";
import { foundSparkAccount } from "./support/spark-server.ts";
import { statusOf, submitSql, useSpark } from "./support/spark.ts";
import { startStandaloneCluster, type StandaloneCluster } from "./support/standalone-cluster.ts";

const OPTIONS = { timeout: 300_000, ...because(NO_EXECUTORS) };
const PATIENCE = { timeout: 120_000, interval: 100 };
const CLUSTER = { label: "standalone" };
/** Executors for one task each, which are released soon. */
const sparkConfig = {
  "spark.executor.cores": "1",
  "spark.executor.memory": "512m",
  "spark.dynamicAllocation.executorIdleTimeout": "3s",
  "spark.dynamicAllocation.shuffleTracking.timeout": "3s",
  // A slow task gets a second, concurrent attempt.
  "spark.speculation": "true",
  "spark.speculation.minTaskRuntime": "12s",
};

/**
 * Two tasks with about 40 MB each. The first one waits after it has stored its rows, so the rows of the second have to
 * wait too.
 */
const ROWS = 80_000;
const waitingResult = (seconds: number): string =>
  `select id, repeat('x', 1000) as x,
     if(id = ${ROWS / 2 - 1}, java_method('java.lang.Thread', 'sleep', ${seconds * 1000}L), null) as slept
   from range(0, ${ROWS}, 1, 2)`;

describe.skipIf(executorsAreMissing)("a query on a standalone cluster", OPTIONS, () => {
  const spark = useSpark();
  const seaweedFs = useSeaweedFs();
  let cluster: StandaloneCluster;
  let one: AccountClient;
  let other: AccountClient;

  beforeAll(async () => {
    cluster = await startStandaloneCluster(await findSparkHome(inject("postgres").cacheDir));
    one = await newAccount();
    other = await newAccount();
  }, SET_UP_MS);
  afterAll(async () => {
    try {
      // Otherwise their servers would search for the master of the cluster.
      for (const account of [one, other])
        await account.put("/api/v2/clusters/standalone/state", { state: "terminate" });
      for (const account of [one, other]) {
        const isDown = async () => (await account.get("/api/v2/clusters/standalone/state")).state === "DOWN";
        await vi.waitUntil(isDown, PATIENCE);
      }
    } finally {
      await cluster.stop();
    }
  }, 180_000);

  it("creates tables that the executors write, and reads them", async () => {
    await run(one, "create table made using parquet as select id, id % 7 as k from range(0, 1000, 1, 4)");
    expect(await run(one, "select k, count(*), sum(id) from made group by k order by k limit 2")).toBe(
      "0\t143\t71071\r\n1\t143\t71214\r\n",
    );
  });

  it("creates tables that programs on the cluster can read", async () => {
    const program = `from pyspark.sql import SparkSession
print(SparkSession.builder.getOrCreate().table("made").selectExpr("sum(id)").first()[0])`;
    const body = { command_type: "SparkCommand", language: "python", program, ...CLUSTER };
    const { id } = await one.post("/commands", body);
    await ended(one, id, "done");
    expect((await one.get(`/commands/${id}/results`)).results).toBe("499500\n");
  });

  it("releases executors for the queries of other accounts", async () => {
    await vi.waitFor(async () => expect(await cluster.executors()).toEqual([]), PATIENCE);
    expect(await run(other, "select sum(id) from range(0, 100, 1, 4)")).toBe("4950\r\n");
    expect(await run(one, "select count(*) from made")).toBe("1000\r\n");
  });

  it("keeps an executor with a part of the result until it is read", async () => {
    const { id } = await submitSql(one, waitingResult(8), CLUSTER);
    await ended(one, id, "done");
    expect(await idsOf(one, id)).toEqual(numbersTo(ROWS));
    await vi.waitFor(async () => expect(await cluster.executors()).toEqual([]), PATIENCE);
  });

  it("has every row once when two attempts of a task have stored them", async () => {
    const second = /Running task 0\.1 in stage/g;
    const before = cluster.executorLogs().match(second)?.length ?? 0;
    const { id } = await submitSql(one, waitingResult(20), CLUSTER);
    await ended(one, id, "done");
    expect(await idsOf(one, id)).toEqual(numbersTo(ROWS));
    expect(cluster.executorLogs().match(second)?.length).toBe(before + 1);
  });

  it("reports progress, and can be cancelled within a second", async () => {
    const sleepy = "select java_method('java.lang.Thread', 'sleep', 200L) as slept from range(0, 1000, 1, 1000)";
    const { id } = await submitSql(one, sleepy, CLUSTER);
    await vi.waitFor(async () => expect((await one.get(`/commands/${id}`)).progress).toBeGreaterThan(0), PATIENCE);
    const from = performance.now();
    await one.put(`/commands/${id}`, { status: "kill" });
    await expect.poll(() => statusOf(one, id), { timeout: 5000, interval: 20 }).toBe("cancelled");
    expect(performance.now() - from).toBeLessThan(1000);
  });

  it("has every row once when an executor is killed and its stages are repeated", async () => {
    const spread = `select id, java_method('java.lang.Thread', 'sleep', 1L) as slept, repeat('x', 10) as x
      from (select /*+ repartition(8) */ id from range(0, 16000, 1, 4))`;
    const { id } = await submitSql(one, spread, CLUSTER);
    const completed = async () => (await one.get(`/commands/${id}/jobs`))[0]?.job_stats.num_completed_tasks;
    await vi.waitFor(async () => expect(await completed()).toBeGreaterThan(4), PATIENCE);
    const [victim = 0] = await cluster.executors();
    process.kill(victim, "SIGKILL");
    await ended(one, id, "done");
    expect((await idsOf(one, id)).toSorted((first, second) => first - second)).toEqual(numbersTo(16_000));
    expect(cluster.executorLogs()).toMatch(/Running task \d+\.\d+ in stage \d+\.1 /);
  });

  it("fails with the reason when a part of the result is lost with an executor", async () => {
    const { id } = await submitSql(one, waitingResult(8), CLUSTER);
    const completed = async () => (await one.get(`/commands/${id}/jobs`))[0]?.job_stats.num_completed_tasks;
    await expect.poll(completed, PATIENCE).toBe(1);
    for (const executor of await cluster.executors()) process.kill(executor, "SIGKILL");
    await ended(one, id, "error");
    const { error_log: log } = await one.get(`/commands/${id}/error_logs`);
    expect(log).toContain("a part of the result was lost with the executor that held it");
  });

  /** With a storage location on S3, because executors do not see the node's folders. */
  async function newAccount(): Promise<AccountClient> {
    const email = `${randomBytes(4).toString("hex")}@example.test`;
    const { accountId, token } = await foundSparkAccount(spark.connection, email);
    const account = new AccountClient(spark.url, token, accountId, email);
    const { endpoint, region, credentials } = seaweedFs;
    const settings = { defloc: `s3://${await seaweedFs.bucket()}/`, storage_endpoint: endpoint, aws_region: region };
    const keys = { storage_access_key: credentials.accessKeyId, storage_secret_key: credentials.secretAccessKey };
    await account.put("/api/v2/accounts", { account: { ...settings, ...keys } });
    const engine = { type: "standalone", master_url: cluster.masterUrl, token: cluster.secret };
    await account.post("/api/v2/clusters", { labels: ["standalone"], engine, spark_config: sparkConfig });
    return account;
  }

  async function ended(account: AccountClient, id: number, end: string | RegExp): Promise<void> {
    await expect.poll(() => statusOf(account, id), PATIENCE).toMatch(/done|error|cancelled/);
    const { error_log: log } = await account.get(`/commands/${id}/error_logs`);
    expect(await statusOf(account, id), log).toMatch(end);
  }

  async function run(account: AccountClient, sql: string): Promise<string> {
    const { id } = await submitSql(account, sql, CLUSTER);
    await ended(account, id, "done");
    const { results } = await account.get(`/commands/${id}/results`);
    return results;
  }

  async function idsOf(account: AccountClient, id: number): Promise<number[]> {
    const response = await fetch(`${spark.url}/api/v1.2/commands/${id}/results?format=csv`, {
      headers: { "X-AUTH-TOKEN": account.token },
    });
    const lines = (await response.text()).trimEnd().split("\r\n");
    return lines.map((line) => Number(line.slice(0, line.indexOf(","))));
  }
});

function numbersTo(end: number): number[] {
  return Array.from({ length: end }, (_, number) => number);
}
