import { beforeAll, describe, expect, inject, it } from "vitest";
import { findSparkHomeWithPackages, SET_UP_MS } from "./support/connect-server.ts";
import { sparkIsMissing } from "./support/spark-missing.ts";
import { runDriver } from "./support/driver-run.ts";
import { ensureSparkHome, type SparkHome } from "../src/engines/spark-home/spark-home.ts";

const RUN_MS = 240_000;

const program = `
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
print("a=%d" % spark.sql("select 1 as a").first().a)
print(sys.argv[1:], spark.conf.get("spark.headgate.command"), spark.sparkContext.appName)
print(spark.sparkContext.parallelize(range(4), 4).map(lambda n: n * n).sum())
print(spark.range(3).toPandas()["id"].sum())
print("a word for the log", file=sys.stderr)
sys.exit(3)
`;

// Skipped on machines without Java or Python.
describe.skipIf(sparkIsMissing)("a program on real Spark", () => {
  let home: SparkHome;

  const setUp = (steps: unknown[]): Promise<SparkHome> =>
    ensureSparkHome({
      cacheDir: inject("postgres").cacheDir,
      signal: new AbortController().signal,
      progress: (step) => steps.push(step),
      warn: (message) => steps.push(message),
    });

  beforeAll(async () => {
    home = await findSparkHomeWithPackages(inject("postgres").cacheDir);
  }, SET_UP_MS);

  /** `driver-languages.full.test.ts` has the same for a driver of the program's own. */
  it(
    "has its own arguments, output, error and exit code in a driver that waited, and leaves its jobs in the event log",
    async () => {
      const ended = await runDriver(
        home,
        {
          kind: "python",
          text: program,
          arguments: ["--conf", "spark.sql.shuffle.partitions=2"],
          programArguments: ["one", "two words", "$HOME *"],
        },
        "standby",
      );
      expect(ended.output).toBe("a=1\n['one', 'two words', '$HOME *'] 7 program.py\n14\n3\n");
      expect(ended.log.match(/Running Spark version/g)).toHaveLength(1);
      // Spark's own messages about its end would follow.
      expect(ended.log.endsWith("\na word for the log\n"), ended.log).toBe(true);
      expect(ended.exitCode).toBe(3);
      expect(ended.events.progress).toBe(99);
      expect(ended.events.jobs).toMatchObject([
        { jobId: 0, status: "succeeded", tasks: 1 },
        { jobId: 1, status: "succeeded", tasks: 4, completedTasks: 4 },
        { jobId: 2, status: "succeeded" },
      ]);
    },
    RUN_MS,
  );

  it("needs no set-up once Spark is installed", async () => {
    const steps: unknown[] = [];
    expect(await setUp(steps)).toEqual(home);
    expect(steps).toEqual([]);
    expect(home.archive).toBeDefined();
  });
});
