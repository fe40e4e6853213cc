/** Programs of every language behave the same in a driver of their own and in a standby driver. */
import { beforeAll, describe, expect, inject, it } from "vitest";
import { findSparkHome, SET_UP_MS } from "./support/connect-server.ts";
import { sparkIsMissing } from "./support/spark-missing.ts";
import { runDriver, type DriverEnd, type Manner, type ProgramToTry } from "./support/driver-run.ts";
import { findR } from "../src/engines/spark-home/find-r.ts";
import type { SparkHome } from "../src/engines/spark-home/spark-home.ts";

interface Case {
  readonly name: string;
  readonly program: ProgramToTry;
  readonly end: {
    readonly exitCode: number;
    readonly output: string;
    readonly log?: RegExp;
    readonly jobs?: readonly object[];
  };
}

const python = (text: string, more: Partial<ProgramToTry> = {}): ProgramToTry => ({ kind: "python", text, ...more });
const scala = (text: string, more: Partial<ProgramToTry> = {}): ProgramToTry => ({ kind: "scala", text, ...more });
const session = "from pyspark.sql import SparkSession\nspark = SparkSession.builder.getOrCreate()\n";

const cases: readonly Case[] = [
  {
    name: "Python with arguments of its own, whose jobs are in its event log",
    program: python(
      `import sys\n${session}print(sys.argv[1:], spark.conf.get("spark.headgate.command"), spark.sparkContext.appName)\n` +
        "print(spark.sparkContext.parallelize(range(4), 4).map(lambda n: n * n).sum())\n" +
        'print("a word for the log", file=sys.stderr)\nsys.exit(3)',
      { programArguments: ["one", "two words", "$HOME *"] },
    ),
    end: {
      exitCode: 3,
      output: "['one', 'two words', '$HOME *'] 7 program.py\n14\n",
      log: /\na word for the log\n/,
      jobs: [{ jobId: 0, status: "succeeded", tasks: 4, completedTasks: 4 }],
    },
  },
  {
    name: "Python that succeeds",
    program: python(`${session}spark.range(3).write.saveAsTable("t")\nprint(spark.table("t").count())`),
    end: { exitCode: 0, output: "3\n" },
  },
  {
    name: "Python that raises",
    program: python("print('before')\nraise ValueError('told')"),
    end: { exitCode: 1, output: "before\n", log: /ValueError: told/ },
  },
  {
    name: "Python whose session has settings of its own",
    program: python(
      `${session}for key in ["spark.sql.shuffle.partitions", "spark.app.name", "spark.headgate.command"]:\n` +
        '    print(spark.conf.get(key))\nprint(spark.sparkContext._jsc.hadoopConfiguration().get("x.y"))',
      {
        arguments: ["--conf", "spark.sql.shuffle.partitions=5", "--name", "nightly"],
        properties: { "spark.sql.shuffle.partitions": "9", "spark.hadoop.x.y": "z" },
      },
    ),
    end: { exitCode: 0, output: "5\nnightly\n7\nz\n" },
  },
  {
    name: "Python whose files are reached by settings of its own",
    program: python(
      `${session}context = spark.sparkContext\nfiles = context._jvm.org.apache.hadoop.fs.FileSystem\n` +
        "print(files.getLocal(context._jsc.hadoopConfiguration()).getDefaultBlockSize())",
      { arguments: ["--conf", "spark.hadoop.fs.local.block.size=1234567"] },
    ),
    end: { exitCode: 0, output: "1234567\n" },
  },
  {
    name: "Python that does not exist in this version",
    program: python("print(1"),
    end: { exitCode: 1, output: "", log: /SyntaxError/ },
  },
  {
    name: "Scala statements with a class and closures",
    program: scala("case class A(n: Int)\nval by = 2\nprintln(Seq(A(1), A(2)).toDS.map(_.n * by).collect().sum)"),
    end: { exitCode: 0, output: "6\n" },
  },
  {
    name: "Scala statements that exit",
    program: scala("println(1)\nsys.exit(5)\nprintln(2)"),
    end: { exitCode: 5, output: "1\n" },
  },
  {
    name: "Scala statements that throw",
    program: scala('println(1)\n\nthrow new IllegalStateException("told")\nprintln(2)'),
    end: { exitCode: 1, output: "1\n", log: /IllegalStateException: told[\s\S]*ended by the statement in line 3/ },
  },
  {
    name: "Scala statements that do not type",
    program: scala('println("ran")\n\nval n: Int =\n  "text"\nprintln("not reached")\n'),
    end: {
      exitCode: 1,
      output: "ran\n",
      log: /line 4: error: type mismatch[\s\S]*headgate: ended by the statement in line 3/,
    },
  },
  {
    name: "Scala statements that do not parse",
    program: scala("println(1)\nval = 3"),
    end: { exitCode: 1, output: "", log: /program\.scala:2: error/ },
  },
  {
    name: "Scala with a main method that throws",
    program: scala('object Main extends App { println(args.length); sys.error("told") }', { programArguments: ["a"] }),
    end: { exitCode: 1, output: "1\n", log: /RuntimeException: told/ },
  },
  {
    name: "Scala with two main methods, one of them named",
    program: scala('object A extends App { println("a") }\nobject B extends App { println("b") }', {
      arguments: ["--class", "B"],
    }),
    end: { exitCode: 0, output: "b\n" },
  },
  {
    name: "Scala with two main methods, none named",
    program: scala("object A extends App\nobject B extends App"),
    end: { exitCode: 1, output: "", log: /several main methods, name one by --class in arguments: A, B/ },
  },
  {
    name: "Scala that is definitions only",
    program: scala("class A"),
    end: { exitCode: 1, output: "", log: /nothing to run/ },
  },
  {
    name: "Scala that does not type",
    program: scala('object A extends App {\n  val n: Int = "x"\n}'),
    end: { exitCode: 1, output: "", log: /program\.scala:2: error: type mismatch/ },
  },
  {
    name: "no Scala at all",
    program: scala("// nothing\n"),
    end: { exitCode: 0, output: "" },
  },
];

const rCases: readonly Case[] = [
  {
    name: "R that succeeds",
    program: {
      kind: "R-by-python",
      text: 'library(reticulate)\ns <- import("pyspark.sql")$SparkSession$builder$getOrCreate()\ncat(s$range(3L)$count(), "\\n")',
    },
    end: { exitCode: 0, output: "3 \n" },
  },
  {
    name: "R that stops",
    program: { kind: "R-by-python", text: 'cat("before\\n")\nstop("told")' },
    end: { exitCode: 1, output: "before\n", log: /told/ },
  },
  {
    name: "R that quits",
    program: { kind: "R-by-python", text: "quit(status = 4)" },
    end: { exitCode: 4, output: "" },
  },
];

// Skipped on machines without Java or Python.
describe.skipIf(sparkIsMissing)("a program", () => {
  let home: SparkHome;
  beforeAll(async () => {
    home = await findSparkHome(inject("postgres").cacheDir);
  }, SET_UP_MS);

  const both = (all: readonly Case[]): [string, Manner, Case][] =>
    all.flatMap((each) =>
      (["cold", "standby"] as const).map((manner) => [each.name, manner, each] as [string, Manner, Case]),
    );

  const check = ({ exitCode, output, log, events }: DriverEnd, { end }: Case): void => {
    expect({ exitCode, output }, log).toEqual({ exitCode: end.exitCode, output: end.output });
    if (end.log !== undefined) expect(log).toMatch(end.log);
    if (end.jobs !== undefined) expect(events).toMatchObject({ progress: 99, jobs: end.jobs });
  };

  it.each(both(cases))("%s, %s", async (_name, manner, each) => {
    check(await runDriver(home, each.program, manner), each);
  });

  it.for(both(rCases))("%s, %s", async ([, manner, each], { skip }) => {
    const found = await findR(home.folder);
    if (found.kind === "missing") skip(found.reason);
    if (found.kind === "sparkr") skip("this Spark has SparkR");
    check(await runDriver(home, each.program, manner), each);
  });
});
