import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { Fault } from "../../lib/fault.ts";
import { howToInstallPython, pythonNeeded } from "../set-up/find-python.ts";
import { driverEnvironment, jvmWords, pythonOf, type DriverHome } from "./driver-jvm.ts";
import { executorWords, runsHere } from "./executor-jars.ts";
import { javaOptionsOf } from "./java-options.ts";
import { parseMemoryMiB } from "./memory-size.ts";
import { renderProperties } from "./properties-file.ts";
import { fitsStandby } from "./standby-rules.ts";
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
  /** Jars behind Spark's own. */
  readonly classPath: readonly string[];
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
  readonly userHome: string;
}

export type DriverProgram = SourceProgram | CommandLineProgram;

export interface CommandLineProgram {
  readonly kind: "command_line";
  /** The field that the words come from, for messages. */
  readonly field: string;
  readonly words: readonly string[];
}

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
  /** The words behind the main class: all that a driver that already waits has to be told. */
  readonly submission: readonly string[];
  /** Whether one that waits does the same, started without knowing of this program. */
  readonly fitsStandby: boolean;
  /** Only what Spark needs; who starts it adds the rest. */
  readonly env: Readonly<Record<string, string>>;
  readonly propertiesText: string;
  /** The heap. */
  readonly memoryMiB: number;
  /** Settings in the program's options that the server decides; they have no effect. */
  readonly ignored: readonly string[];
}

/** Of `jvm/`: hands its arguments to Spark's own SparkSubmit. */
export const driverMainClass = "headgate.driver.Driver";
const scalaMainClass = "headgate.program.ScalaProgram";

export function driverCommandLine(run: DriverRun): DriverCommandLine {
  const { home, program } = run;
  const options = checkProgram(program, runsHere(run.properties));
  const properties = { ...run.properties, ...Object.fromEntries(options.properties) };
  const python = pythonOf(properties) ?? home.python?.path;
  if (python === undefined && isPython(program, options)) throw pythonIsMissing();
  const memoryMiB = options.memoryMiB ?? memoryOf(run.properties) ?? run.defaultMemoryMiB;
  const jvm = {
    home,
    memoryMiB,
    javaOptions: options.javaOptions.length > 0 ? options.javaOptions : javaOptionsOf(run.properties, "spark_config"),
    classPathBefore: options.classPath,
    classPathBehind: run.classPath,
    userHome: run.userHome,
    mainClass: driverMainClass,
  };
  const ownWords = programWords(program, home, options);
  const jars = executorWords(properties, home.ownJars, jarsOf(options));
  const submission = ["--properties-file", run.propertiesFile, ...options.words, ...jars, ...ownWords];
  return {
    argv: [...jvmWords(jvm), ...submission],
    submission,
    fitsStandby: fitsStandby(options),
    env: { ...driverEnvironment(home, python), ...libraryPath(options) },
    propertiesText: renderProperties(driverProperties({ ...run, properties })),
    memoryMiB,
    ignored: options.ignored,
  };
}

/** The heap that the program's options ask for; undefined: none. Throws what is wrong with the options. */
export function statedMemoryMiB(program: DriverProgram): number | undefined {
  return checkProgram(program).memoryMiB;
}

function memoryOf({ "spark.driver.memory": memory }: DriverRun["properties"]): number | undefined {
  return memory === undefined ? undefined : parseMemoryMiB(memory, "spark.driver.memory");
}

function checkProgram(program: DriverProgram, isLocal = true): CheckedOptions {
  return program.kind === "command_line"
    ? checkCommandLine(program.words, { field: program.field, runsHere: isLocal })
    : checkArguments(program.arguments, { field: "arguments", runsHere: isLocal });
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

/** R uses Spark through Python if Spark comes without SparkR. */
function isPython({ kind }: DriverProgram, { rest }: CheckedOptions): boolean {
  if (kind === "command_line") return rest[0]?.endsWith(".py") ?? false;
  return kind === "python" || kind === "R-by-python";
}

function pythonIsMissing(): Fault {
  const cure = `${howToInstallPython()}, then start Headgate again`;
  return new Fault("invalid", `the program needs ${pythonNeeded()}, which this machine lacks: ${cure}`);
}

function jarsOf({ given, properties }: CheckedOptions): string | undefined {
  return given.findLast(({ name }) => name === "--jars")?.value ?? properties.get("spark.jars");
}

function libraryPath({ properties }: CheckedOptions): Record<string, string> {
  const folders = properties.get("spark.driver.extraLibraryPath");
  return folders === undefined ? {} : { LD_LIBRARY_PATH: folders };
}

/** With the program's own, which Spark would know anyway: our main settles what they ask for before Spark reads them. */
function driverProperties(run: DriverRun): Record<string, string> {
  const tags = Object.entries(run.tags);
  const joined = tags.map(([name, value]) => `${name}-${value}`).join(",");
  return {
    "spark.master": "local[*]",
    "spark.local.dir": run.scratchFolder,
    ...(run.program.kind === "command_line" ? {} : { "spark.app.name": basename(run.program.file) }),
    // Small, so that the ends of single tasks get through to whoever reads the progress.
    "spark.eventLog.buffer.kb": "8",
    // Protected from users; a cluster elsewhere needs others.
    "spark.authenticate": "true",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    ...run.properties,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
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
