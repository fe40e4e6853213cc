import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { renderProperties } from "./properties-file.ts";
import { checkArguments, checkCommandLine, type CheckedOptions } from "./submit-rules.ts";

/**
 * The command line of a Spark driver: Spark's own main class in a JVM that is started directly, with the class-data
 * archive. `spark-submit` would start a JVM before it, only to ask it for this line. What that one reads from the
 * options (memory, Java options, class path) is read here instead. Pure: nothing is started or written.
 */
export interface DriverRun {
  readonly home: DriverHome;
  readonly program: DriverProgram;
  /** From the server: the cluster's and the account's properties. May hold secrets. */
  readonly properties: Readonly<Record<string, string>>;
  /** Where the caller writes `propertiesText`, mode 0600, owned by the driver's user. */
  readonly propertiesFile: string;
  /** Unless the options or the properties say how much. */
  readonly defaultMemoryMiB: number;
  readonly applicationId: string;
  /** Such as the command's id and the request's: what Spark, its event log and its cluster call this run. */
  readonly tags: Readonly<Record<string, string>>;
  readonly eventLogFolder: string;
  /** For shuffles and spills. */
  readonly scratchFolder: string;
}

/** What the line needs of an installed Spark. */
export interface DriverHome {
  readonly folder: string;
  readonly java: { readonly path: string; readonly home: string };
  readonly python: { readonly path: string };
  readonly javaArguments: string;
  readonly classPath: readonly string[];
  readonly driverPython: string;
  readonly driverR: string;
  readonly archive: string | undefined;
}

export type DriverProgram = SourceProgram | { readonly kind: "command_line"; readonly words: readonly string[] };

export interface SourceProgram {
  /** `R` through SparkR, `R-by-python` where Spark has none. */
  readonly kind: "python" | "scala" | "R" | "R-by-python";
  /** Its name ends in .py, .scala or .R. */
  readonly file: string;
  /** Words of `arguments`: options of spark-submit. */
  readonly arguments: readonly string[];
  readonly programArguments: readonly string[];
}

export interface DriverCommandLine {
  readonly argv: readonly string[];
  /** Only what Spark needs; who starts it adds the rest. */
  readonly env: Readonly<Record<string, string>>;
  readonly propertiesText: string;
  /** The heap. */
  readonly memoryMiB: number;
}

/**
 * Java's optimising compiler waits ten times longer than by default: of a short program it takes half of the CPU time
 * and is not done when the program is. Measured on two busy cores, CPU seconds: a SELECT 1 of 12.7 takes 7.5 (19.6 by
 * spark-submit itself), an aggregation over 60 million rows of 23.1 takes 18.5. Without that compiler a SELECT 1 takes
 * 5.7, but long programs would pay for it. A program's own Java options come later and count more.
 */
const patientCompiler = [
  "-XX:Tier4InvocationThreshold=50000",
  "-XX:Tier4MinInvocationThreshold=6000",
  "-XX:Tier4CompileThreshold=150000",
  "-XX:Tier4BackEdgeThreshold=400000",
];

/** Of `jvm/`: hands its arguments to Spark's own SparkSubmit. */
export const driverMainClass = "headgate.driver.Driver";
const scalaMainClass = "headgate.program.ScalaProgram";

export function driverCommandLine(run: DriverRun): DriverCommandLine {
  const { home, program } = run;
  const options = checkProgram(program);
  const memoryMiB = driverMemoryMiB(program, run.defaultMemoryMiB);
  const python =
    options.properties.get("spark.pyspark.driver.python") ??
    options.properties.get("spark.pyspark.python") ??
    run.properties["spark.pyspark.python"] ??
    home.python.path;
  return {
    argv: [
      home.java.path,
      `@${home.javaArguments}`,
      `-Xmx${memoryMiB}m`,
      ...patientCompiler,
      ...classData(home, options),
      ...options.javaOptions,
      driverMainClass,
      "--properties-file",
      run.propertiesFile,
      ...options.words,
      ...programWords(program, home, options),
    ],
    env: {
      SPARK_HOME: home.folder,
      SPARK_LOCAL_IP: "127.0.0.1",
      SPARK_SCALA_VERSION: "2.13",
      JAVA_HOME: home.java.home,
      PYSPARK_PYTHON: home.python.path,
      HEADGATE_DRIVER_PYTHON: python,
      ...libraryPath(options),
    },
    propertiesText: renderProperties(driverProperties(run)),
    memoryMiB,
  };
}

/** What a node's budget is charged with, before anything else is known. Throws what is wrong with the options. */
export function driverMemoryMiB(program: DriverProgram, defaultMemoryMiB: number): number {
  return checkProgram(program).memoryMiB ?? defaultMemoryMiB;
}

function checkProgram(program: DriverProgram): CheckedOptions {
  return program.kind === "command_line"
    ? checkCommandLine(program.words, "cmdline")
    : checkArguments(program.arguments, "arguments");
}

/** What runs, behind the program's own options: of a repeated option Spark takes the last. */
function programWords(program: DriverProgram, home: DriverHome, options: CheckedOptions): string[] {
  const python = (path: string): string[] => ["--conf", `spark.pyspark.driver.python=${path}`];
  switch (program.kind) {
    case "command_line":
      return [...python(home.driverPython), ...options.rest];
    case "python":
      return [...python(home.driverPython), program.file, ...program.programArguments];
    case "R":
      return ["--conf", `spark.r.driver.command=${home.driverR}`, program.file, ...program.programArguments];
    case "R-by-python":
      // Spark takes what ends in .py to Python, as which the wrapper stands there.
      return [...python(home.driverR), `${program.file}.py`, ...program.programArguments];
    case "scala": {
      const wanted = options.given.findLast(({ name }) => name === "--class")?.value;
      return ["--class", scalaMainClass, "spark-internal", program.file, wanted ?? "-", ...program.programArguments];
    }
  }
}

/** An archive fits only a class path that begins as its own did; `-Xshare:auto` goes on without one. */
function classData({ archive, classPath }: DriverHome, options: CheckedOptions): string[] {
  if (options.classPath.length > 0) return ["-cp", [...options.classPath, ...classPath].join(":")];
  return archive === undefined ? [] : [`-XX:SharedArchiveFile=${archive}`, "-Xshare:auto", "-Xlog:cds=off"];
}

function libraryPath({ properties }: CheckedOptions): Record<string, string> {
  const folders = properties.get("spark.driver.extraLibraryPath");
  return folders === undefined ? {} : { LD_LIBRARY_PATH: folders };
}

function driverProperties(run: DriverRun): Record<string, string> {
  const tags = Object.entries(run.tags);
  const joined = tags.map(([name, value]) => `${name}-${value}`).join(",");
  return {
    "spark.master": "local[*]",
    "spark.local.dir": run.scratchFolder,
    ...(run.program.kind === "command_line" ? {} : { "spark.app.name": basename(run.program.file) }),
    // Small, so that the ends of single tasks get through to whoever reads the progress.
    "spark.eventLog.buffer.kb": "8",
    ...run.properties,
    "spark.authenticate": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.dir": pathToFileURL(run.eventLogFolder).href,
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
    // A program may stop its session and begin another: both have this one name.
    "spark.eventLog.overwrite": "true",
    "spark.test.appId": run.applicationId,
    "spark.yarn.tags": joined,
    "spark.log.callerContext": joined,
    ...Object.fromEntries(tags.map(([name, value]) => [`spark.headgate.${name}`, value])),
  };
}
