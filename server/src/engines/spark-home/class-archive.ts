import { existsSync } from "node:fs";
import { chmod, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fault } from "../../lib/fault.ts";
import { howToInstallPython, pythonNeeded, type Python } from "../../processes/set-up/find-python.ts";
import { mustRun } from "../../processes/set-up/run-tool.ts";
import type { SetUpContext } from "../../processes/set-up/set-up-step.ts";
import type { Java } from "./find-java.ts";
import type { LaunchFolder } from "./launch-folder.ts";
import { JAVA_NETWORKING } from "./java-networking.ts";
import { scalaVersion } from "./pinned-spark.ts";

/**
 * Loads the classes that short programs use: SQL, the catalog, the Python gateway and worker, shuffles, JSON and
 * Parquet, the event log. `Training` of `jvm/` loads those of our other JVMs, so that all share one archive.
 */
const trainingProgram = `
import sys
from pyspark.sql import SparkSession
folder = sys.argv[1]
spark = SparkSession.builder.getOrCreate()
context = spark.sparkContext
training = context._jvm.headgate.training.Training
port = training.startMetastore(folder)
context._jsc.hadoopConfiguration().set("hive.metastore.uris", "thrift://127.0.0.1:%d" % port)
spark.sql("select 1 as a").collect()
spark.range(100).selectExpr("id % 7 as k", "id").groupBy("k").count().orderBy("k").collect()
spark.createDataFrame([(1, "a"), (2, "b")], "n int, t string").write.saveAsTable("words")
spark.sql("create table parts (n int) using parquet partitioned by (day string)")
spark.sql("insert into parts values (1, 'monday')")
spark.table("words").join(spark.table("parts"), "n").show()
spark.sql("create database other")
spark.sql("drop database other cascade")
spark.range(3).write.json(folder + "/json")
spark.read.json(folder + "/json").join(spark.range(3), "id").count()
context.parallelize([1, 2, 3], 2).map(lambda n: n + 1).collect()
training.touchRest(context._jsc.sc(), folder)
`;

/**
 * A class-data archive halves the start time of Spark's JVM. A JVM writes it at the end of a training program. Without
 * it everything works but starts slower, so a failure is only a warning.
 */
export async function makeClassArchive(
  launch: LaunchFolder,
  { java, python, sparkHome }: { java: Java; python: Python | undefined; sparkHome: string },
  { signal, progress }: SetUpContext,
): Promise<void> {
  if (existsSync(launch.archive)) return;
  if (python === undefined) {
    const message = `preparing fast starts of Spark needs ${pythonNeeded()}, which is missing`;
    throw new Fault("unavailable", `${message}: ${howToInstallPython()}`);
  }
  progress({ text: "Preparing fast starts of Spark" });
  const work = await mkdtemp(join(tmpdir(), "headgate-archive-"));
  const unfinished = `${launch.archive}.partial`;
  try {
    await writeFile(join(work, "training.py"), trainingProgram);
    await writeFile(join(work, "spark.conf"), trainingProperties(work, launch.driverPython));
    const env = {
      SPARK_HOME: sparkHome,
      SPARK_LOCAL_IP: "127.0.0.1",
      SPARK_SCALA_VERSION: scalaVersion,
      PYSPARK_PYTHON: python.path,
      HEADGATE_DRIVER_PYTHON: python.path,
      PATH: "/usr/bin:/bin",
    };
    const jvm = [
      java.path,
      `@${launch.javaArguments}`,
      "-Xmx1g",
      "-XX:TieredStopAtLevel=1",
      `-XX:ArchiveClassesAtExit=${unfinished}`,
      "-Xlog:cds=off",
    ];
    const submit = ["headgate.driver.Driver", "--properties-file", join(work, "spark.conf")];
    const argv = [...jvm, "-Xlog:cds+dynamic=off", ...submit, join(work, "training.py"), work];
    await mustRun("the run that prepares fast starts", argv, { signal, env, cwd: work, timeoutMs: 600_000 });
    await chmod(unfinished, 0o644);
    await rename(unfinished, launch.archive);
  } finally {
    await rm(unfinished, { force: true });
    await rm(work, { recursive: true, force: true });
  }
}

function trainingProperties(work: string, driverPython: string): string {
  return Object.entries({
    "spark.master": "local[2]",
    ...JAVA_NETWORKING,
    "spark.ui.enabled": "false",
    "spark.authenticate": "true",
    "spark.local.dir": work,
    "spark.sql.warehouse.dir": join(work, "warehouse"),
    "spark.sql.catalogImplementation": "hive",
    "spark.headgate.metastore.secret": "training",
    "spark.hadoop.hive.metastore.sasl.enabled": "true",
    "spark.hadoop.hive.metastore.token.signature": "headgate",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.dir": `file://${work}`,
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
    "spark.pyspark.driver.python": driverPython,
  })
    .map(([key, value]) => `${key}=${value}\n`)
    .join("");
}
