import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { findJava, findPython } from "../spark-home/prerequisites.ts";
import { ensureSparkHome, type SparkHome } from "../spark-home/spark-home.ts";
import { driverCommandLine, type DriverProgram } from "./driver-command-line.ts";
import { EventLogReader } from "./event-log.ts";

const missing = (await findJava(undefined)) === undefined || (await findPython()) === undefined;

/** The first run on a machine fetches Spark. */
const SET_UP_MS = 900_000;
const RUN_MS = 240_000;

const program = `
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
print("a=%d" % spark.sql("select 1 as a").first().a)
print(sys.argv[1:], spark.conf.get("spark.headgate.command"))
print(spark.sparkContext.parallelize(range(4), 4).map(lambda n: n * n).sum())
print("a word for the log", file=sys.stderr)
sys.exit(3)
`;

// Says so when it is left out: Java or Python is not on this machine.
describe.skipIf(missing)("a program on real Spark", () => {
  let folder: string;
  let home: SparkHome;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "headgate-spark-"));
    const { cacheDir } = inject("postgres");
    const signal = new AbortController().signal;
    home = await ensureSparkHome({ cacheDir, signal, progress: () => undefined, warn: () => undefined });
  }, SET_UP_MS);
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  it(
    "has its own arguments, output, error and exit code, and leaves its jobs in the event log",
    async () => {
      const file = join(folder, "program.py");
      writeFileSync(file, program);
      const words = ["--conf", "spark.sql.shuffle.partitions=2"];
      const ended = await run({
        kind: "python",
        file,
        arguments: words,
        programArguments: ["one", "two words", "$HOME *"],
      });
      expect(ended.output).toBe("a=1\n['one', 'two words', '$HOME *'] 7\n14\n");
      expect(ended.log).toContain("\na word for the log\n");
      expect(ended.exitCode).toBe(3);
      const { progress, jobs } = await new EventLogReader(join(folder, "events/command-7-1")).read();
      expect(progress).toBe(99);
      expect(jobs).toMatchObject([
        { jobId: 0, status: "succeeded", tasks: 1 },
        { jobId: 1, status: "succeeded", tasks: 4, completedTasks: 4 },
      ]);
    },
    RUN_MS,
  );

  it("is set up in no time once it is there", async () => {
    const steps: unknown[] = [];
    const { cacheDir } = inject("postgres");
    const signal = new AbortController().signal;
    const again = await ensureSparkHome({
      cacheDir,
      signal,
      progress: (step) => steps.push(step),
      warn: () => undefined,
    });
    expect(again).toEqual(home);
    expect(steps).toEqual([]);
    expect(again.archive).toBeDefined();
  });

  async function run(what: DriverProgram): Promise<{ exitCode: unknown; output: string; log: string }> {
    const path = (name: string): string => join(folder, name);
    mkdirSync(path("events"));
    const line = driverCommandLine({
      home,
      program: what,
      properties: {},
      propertiesFile: path("spark.conf"),
      defaultMemoryMiB: 1024,
      applicationId: "command-7-1",
      tags: { command: "7", request: "r" },
      eventLogFolder: path("events"),
      scratchFolder: folder,
    });
    writeFileSync(path("spark.conf"), line.propertiesText, { mode: 0o600 });
    const files = [openSync(path("output"), "a"), openSync(path("log"), "a")];
    const [java = "", ...words] = line.argv;
    const env = { PATH: "/usr/bin:/bin", HOME: folder, ...line.env };
    const child = spawn(java, words, { cwd: folder, env, stdio: ["ignore", ...files] });
    const [exitCode]: unknown[] = await once(child, "exit");
    files.forEach(closeSync);
    return { exitCode, output: readFileSync(path("output"), "utf8"), log: readFileSync(path("log"), "utf8") };
  }
});
