import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { because, NO_ISOLATION } from "../../test/skip-reasons/skip-reasons.ts";
import { findTestBubblewrap } from "../../test/bubblewrap/find-test-bubblewrap.ts";
import { findSparkHome } from "../../test/support/connect-server.ts";
import { sparkIsMissing } from "../../test/support/spark-missing.ts";
import { useSpark } from "../../test/support/spark.ts";
import { findR } from "../engines/spark-home/find-r.ts";
import { accountIdentity } from "./execution/command-files.ts";

const RUN_MS = 300_000;
const { kind } = await findTestBubblewrap(accountIdentity(1));

const r = sparkIsMissing ? undefined : await findR((await findSparkHome(inject("postgres").cacheDir)).folder);
// eslint-disable-next-line no-console -- a test that is left out says why
if (r?.kind === "missing") console.warn(`R programs are not tested: ${r.reason}`);

/** As people type them: without an object, with leading dots, and with definitions between statements. */
const statements = `
import org.apache.spark.sql.functions.lit

case class Person(name: String, age: Int)
object Person { def named(name: String) = Person(name, name.length) }

val limit = 3
val people = Seq(Person.named("ann"), Person("bob", 5), Person("cy", 2))
  .map(person => person.copy(age = person.age + 0))
  .toDS()

println(people.filter(_.age >= limit).map(_.name).collect().sorted.mkString(","))
val (low, high) = (1, 2); println(low + high)
people
  .groupBy(lit(1))
  .count()
  .select("count")
  .collect()
  .foreach(row => println(row.getLong(0)))
println(sc.parallelize(1 to 4, 2).map(_ * limit).sum().toInt)
println(args.mkString("|"))
1 + 1
System.err.println("a word for the log")
`;

const withMain = `
package reports

import org.apache.spark.sql.SparkSession

final case class Line(text: String)

object Report {
  def main(arguments: Array[String]): Unit = {
    val spark = SparkSession.builder().getOrCreate()
    import spark.implicits._
    val lines = arguments.toSeq.map(Line(_)).toDS()
    System.err.println("letters: " + lines.map(line => line.text.length).reduce(_ + _))
    System.err.println("partitions: " + spark.conf.get("spark.sql.shuffle.partitions"))
    sys.exit(3)
  }
}
`;

const pythonSession = "from pyspark.sql import SparkSession\nspark = SparkSession.builder.getOrCreate()\n";

// Says so when it is left out: Java or Python is not on this machine.
describe.skipIf(sparkIsMissing)("a program", () => {
  const spark = useSpark();

  async function run(body: Record<string, unknown>) {
    const { id } = await spark.account.post("/commands", { command_type: "SparkCommand", ...body });
    await expect
      .poll(async () => (await spark.account.get(`/commands/${id}?wait_seconds=60`)).status, {
        timeout: RUN_MS,
        interval: 100,
      })
      .toMatch(/^(done|error)$/);
    const command = await spark.account.get(`/commands/${id}`);
    const { error_log: log } = await spark.account.get(`/commands/${id}/error_logs`);
    const { attempts } = await spark.account.get(`/commands/${id}/attempts`);
    const result = command.status === "done" ? await spark.account.get(`/commands/${id}/results`) : undefined;
    const jobs = await spark.account.get(`/commands/${id}/jobs`);
    const { status, progress } = command;
    const { exit_code: exitCode, cause } = attempts[0] ?? {};
    return { id, status, progress, log, exitCode, cause, output: result?.results, jobs };
  }

  it(
    "of bare Scala statements runs them one by one, and its result is exactly what they print",
    async () => {
      const { status, progress, output, log, jobs } = await run({
        language: "scala",
        program: statements,
        arguments: "--driver-memory 1g", // no driver is kept waiting for the next program of this kind
        user_program_arguments: "one 'two words'",
      });
      expect({ status, progress }, log).toEqual({ status: "done", progress: 100 });
      expect(output).toBe("ann,bob\n3\n3\n30\none|two words\n");
      expect(log).toContain("a word for the log\n");
      expect(jobs.length).toBeGreaterThan(2);
    },
    RUN_MS,
  );

  it(
    "of Scala with a main method is compiled and has its options, arguments and exit code",
    async () => {
      const { status, exitCode, log } = await run({
        language: "scala",
        program: withMain,
        arguments: "--conf spark.sql.shuffle.partitions=7",
        user_program_arguments: "12345 123",
      });
      expect({ status, exitCode }, log).toEqual({ status: "error", exitCode: 3 });
      expect(log).toContain("letters: 8\n");
      expect(log).toContain("partitions: 7\n");
    },
    RUN_MS,
  );

  it.each([
    {
      of: "Python that reads S3 without keys",
      body: { language: "python", program: `${pythonSession}spark.read.csv("s3://a-bucket/a.csv")` },
      cause:
        /^AccessDeniedException: .*the account has no keys for S3: set storage_access_key .*\(line 3\); exit code 1$/,
    },
    {
      of: "Python that reads a path that does not exist",
      body: { language: "python", program: `${pythonSession}spark.read.parquet("/nowhere")` },
      cause: /^AnalysisException: \[PATH_NOT_FOUND\] .*\/nowhere.*\(line 3\); exit code 1$/,
    },
    {
      of: "Scala that reads a table that does not exist",
      body: { language: "scala", program: 'println(1)\nspark.table("nowhere").show()' },
      cause: /^ExtendedAnalysisException: \[TABLE_OR_VIEW_NOT_FOUND\] .*\(line 2\); exit code 1$/,
    },
    {
      of: "Python that ends with a text",
      body: { language: "python", program: `${pythonSession}import sys\nsys.exit("no input for 2026-11-15")` },
      cause: /^no input for 2026-11-15; exit code 1$/,
    },
  ])(
    "of $of has that as its cause, and as the end of its log",
    async ({ body, cause }) => {
      const ended = await run(body);
      expect(ended.cause, ended.log).toMatch(cause);
      expect(ended.log.endsWith(`headgate: ${ended.cause}\n`), ended.log).toBe(true);
      expect([...loggersIn(ended.log)].filter((name) => name.startsWith("INFO "))).toEqual(["INFO SparkContext"]);
    },
    RUN_MS,
  );

  it.each([
    {
      of: "Python that does not exist",
      body: { cmdline: "spark-submit /tmp/missing.py 1 2" },
      cause: /^can't open file '\/tmp\/missing.py': .*No such file or directory; exit code 2$/,
    },
    {
      of: "a jar that does not exist",
      body: { cmdline: "spark-submit --class X /tmp/missing.jar" },
      cause: /^the jar \/tmp\/missing.jar does not exist; exit code 101: the main class was not found$/,
    },
    {
      of: "Scala without the class that should run",
      body: {
        language: "scala",
        program: "object A { def main(args: Array[String]): Unit = () }",
        arguments: "--class B",
      },
      cause: /^nothing to run: there is no main method in B; exit code 1$/,
    },
  ])(
    "of $of never begins, and says so as its cause",
    async ({ body, cause }) => {
      const ended = await run(body);
      expect(ended.cause, ended.log).toMatch(cause);
    },
    RUN_MS,
  );

  it.skipIf(kind !== "usable")(
    "on a standby driver has the same environment, output and files as on a new one, also as a command line of another platform",
    { ...because(NO_ISOLATION), timeout: RUN_MS },
    async () => {
      const file = stored("program.py", selfPortrait);
      const line = `/usr/lib/spark/bin/spark-submit ${otherPlatform} --driver-memory 1g ${file}`;
      const cold = await run({ cmdline: line });
      await untilOneWaits();
      const warm = await run({ language: "python", program: selfPortrait, arguments: otherPlatform });
      for (const { log } of [cold, warm])
        expect(log.match(/^headgate: .* is set by the server: ignored$/gm)).toHaveLength(5);
      expect([wasHandedOver(cold.id), wasHandedOver(warm.id)]).toEqual([false, true]);
      expect(cold.status, cold.log).toBe("done");
      expect(outcomeOf(warm)).toEqual(outcomeOf(cold));
      expect(loggersIn(warm.log)).toContain("INFO SparkContext");
      expect([...loggersIn(warm.log)].filter((name) => !loggersIn(cold.log).has(name))).toEqual([]);
      expect(warm.log).toContain("\na word for the log\n");
    },
  );

  const outcomeOf = ({ status, progress, exitCode, output, jobs }: Awaited<ReturnType<typeof run>>) => ({
    status,
    progress,
    exitCode,
    output,
    jobs: jobs.map(({ job_id, job_stats: { num_tasks, status: end } }: JobView) => [job_id, num_tasks, end]),
  });

  const accountFolder = (): string => join(spark.dataDir, "accounts", String(spark.accountId));

  /** Puts the file where the account's programs can read it. */
  function stored(name: string, text: string): string {
    const path = join(accountFolder(), "storage", name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  }

  /** After a program that has ended. */
  async function untilOneWaits(): Promise<void> {
    const folder = join(accountFolder(), "standby");
    const states = (): string[] =>
      existsSync(folder)
        ? readdirSync(folder).map(
            (name) => readIfThere(join(folder, name, "status.json")).match(/"waiting"/)?.[0] ?? "",
          )
        : [];
    await expect.poll(states, { timeout: RUN_MS, interval: 100 }).toContain('"waiting"');
  }

  const wasHandedOver = (id: number): boolean =>
    existsSync(join(accountFolder(), `commands/${id}/attempts/1/order.json`));

  it.skipIf(r?.kind === "missing")(
    "of R reaches Spark, and has its arguments, its log and its exit code",
    { ...because("R is not on this machine"), timeout: RUN_MS },
    async () => {
      const { status, progress, output, log, jobs } = await run({
        language: "R",
        program: rProgram,
        user_program_arguments: "one 'two words'",
      });
      expect({ status, progress }, log).toEqual({ status: "done", progress: 100 });
      expect(jobs.length).toBeGreaterThan(0);
      expect(output).toBe("n=3\none|two words\n");
      expect(log).toContain("a word for the log\n");
      const failed = await run({ language: "R", program: 'cat(1)\nstop("no rows today")' });
      expect(failed.cause, failed.log).toMatch(/no rows today; exit code 1$/);
    },
  );
});

interface JobView {
  readonly job_id: number;
  readonly job_stats: { readonly num_tasks: number; readonly status: string };
}

/** The loggers that have written to the log, without times and messages. */
function loggersIn(log: string): Set<string> {
  const lines = log.matchAll(/^[\d/: ]+ ([A-Z]+ [\w.$]+):/gm);
  // On a busy machine Spark reports how long a listener took.
  return new Set([...lines].map(([, logger = ""]) => logger).filter((logger) => logger !== "INFO AsyncEventQueue"));
}

/** Names of settings whose values differ from run to run. */
const ofOneRun =
  "app.id app.startTime app.submitTime driver.memory driver.port headgate.command headgate.request log.callerContext test.appId yarn.tags";

/** Settings that scripts often have and that all our drivers ignore. */
const otherPlatform = [
  "--master yarn --deploy-mode client --conf spark.ui.enabled=true --conf spark.eventLog.enabled=false",
  "--conf spark.driver.bindAddress=0.0.0.0",
].join(" ");

const selfPortrait = `
import getpass, os, sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
of_one_run = ["spark." + name for name in "${ofOneRun}".split()]
for key, value in sorted(spark.sparkContext.getConf().getAll()):
    if key not in of_one_run:
        print(key, value)
print(os.getcwd(), sorted(os.listdir(".")), getpass.getuser(), sorted(os.environ))
print(spark.range(5).selectExpr("sum(id)").first()[0])
print("a word for the log", file=sys.stderr)
`;

function readIfThere(path: string): string {
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}

const rProgram =
  r?.kind === "sparkr"
    ? `
library(SparkR)
sparkR.session()
cat("n=", count(sql("select * from range(3)")), "\\n", sep = "")
cat(paste(commandArgs(trailingOnly = TRUE), collapse = "|"), "\\n", sep = "")
message("a word for the log")
`
    : `
library(reticulate)
spark <- import("pyspark.sql")$SparkSession$builder$getOrCreate()
cat("n=", spark$sql("select * from range(3)")$count(), "\\n", sep = "")
cat(paste(commandArgs(trailingOnly = TRUE), collapse = "|"), "\\n", sep = "")
message("a word for the log")
`;
