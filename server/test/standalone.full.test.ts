import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { because, NO_EXECUTORS } from "./skip-reasons/skip-reasons.ts";
import { findSparkHome, SET_UP_MS } from "./support/connect-server.ts";
import { executorsAreMissing } from "./support/spark-missing.ts";
import { useSpark } from "./support/spark.ts";
import { startStandaloneCluster, type StandaloneCluster } from "./support/standalone-cluster.ts";

const RUN_MS = 300_000;

const python = `
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
print(spark.sparkContext.master)
print(spark.sparkContext.parallelize(range(8), 4).map(lambda n: n * n).sum())
print(spark.range(6).selectExpr("sum(id)").first()[0])
`;

/** Its classes have to reach the executors. */
const scala = `
case class Pair(key: String, size: Int)
val by = 3
println(sc.master)
println(Seq(Pair("a", 1), Pair("b", 2)).toDS.repartition(2).map(pair => pair.size * by).collect().sum)
`;

describe.skipIf(executorsAreMissing)("a program on a standalone cluster", because(NO_EXECUTORS), () => {
  const spark = useSpark();
  let cluster: StandaloneCluster;

  beforeAll(async () => {
    cluster = await startStandaloneCluster(await findSparkHome(inject("postgres").cacheDir));
    const engine = { type: "standalone", master_url: cluster.masterUrl, token: cluster.secret };
    await spark.account.post("/api/v2/clusters", { labels: ["standalone"], engine });
  }, SET_UP_MS);
  afterAll(async () => cluster.stop());

  it.each([
    ["python", python, "140\n15\n"],
    ["scala", scala, "9\n"],
  ])(
    "in %s has its executors on the cluster, and its result, log and jobs on the node",
    async (language, program, output) => {
      const body = { command_type: "SparkCommand", label: "standalone", language, program };
      const { id } = await spark.account.post("/commands", body);
      await expect
        .poll(async () => (await spark.account.get(`/commands/${id}?wait_seconds=60`)).status, { timeout: RUN_MS })
        .toMatch(/^(done|error)$/);
      const { error_log: log } = await spark.account.get(`/commands/${id}/error_logs`);
      expect(await spark.account.get(`/commands/${id}`), log).toMatchObject({ status: "done", progress: 100 });
      const { results } = await spark.account.get(`/commands/${id}/results`);
      expect(results).toBe(`${cluster.masterUrl}\n${output}`);
      const jobs = await spark.account.get(`/commands/${id}/jobs`);
      expect(jobs.length).toBeGreaterThan(0);
      expect(jobs[0]).toMatchObject({ job_stats: { status: "succeeded" } });
      expect(cluster.masterLog()).toContain(`Registered app program.${language === "python" ? "py" : "scala"}`);
    },
    RUN_MS,
  );
});
