/**
 * The command line of a Spark driver: Spark's own main class in a JVM that is started directly, with the class-data
 * archive. `spark-submit` would first start another JVM, only to compute this command line from the options (memory,
 * Java options, class path). Pure: nothing is started or written.
 */
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { Fault } from "../../lib/fault.ts";
import { howToInstallPython, pythonNeeded } from "../../processes/set-up/find-python.ts";
import { JAVA_NETWORKING } from "../spark-home/java-networking.ts";
import { driverEnvironment, jvmWords, pythonOf, type DriverHome } from "./driver-jvm.ts";
import { executorWords, runsHere } from "./executor-jars.ts";
import { javaOptionsOf } from "./java-options.ts";
import { parseMemoryMiB } from "./setting-values.ts";
import { renderProperties } from "./properties-file.ts";
import { fitsStandby } from "./standby-rules.ts";
import { checkArguments, checkCommandLine, type CheckContext, type CheckedOptions } from "./submit-rules.ts";

export interface DriverRun {
  readonly home: DriverHome;
  readonly program: DriverProgram;
  /** The properties of the cluster and the account. May hold secrets. */
  readonly properties: Readonly<Record<string, string>>;
  /** Jars after Spark's own. */
  readonly classPath: readonly string[];
  /** Properties of this cluster that the server sets, besides those that it sets for all. Absent: there are none. */
  readonly isServerSetting?: ((name: string) => boolean) | undefined;
  /** The caller writes `propertiesText` to this file, with mode 0600, owned by the driver's user. */
  readonly propertiesFile: string;
  /** Used if neither the options nor the properties set the memory. */
  readonly defaultMemoryMiB: number;
  readonly applicationId: string;
  /** Names of this run in Spark, its event log and its cluster, such as the ids of the command and the request. */
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
  /** `R` through SparkR; `R-by-python` if Spark comes without SparkR. */
  readonly kind: "python" | "scala" | "R" | "R-by-python";
  /** Its name ends in .py, .scala or .R. */
  readonly file: string;
  /** Words of `arguments`: options of spark-submit. */
  readonly arguments: readonly string[];
  readonly programArguments: readonly string[];
}

export interface DriverCommandLine {
  readonly argv: readonly string[];
  /** The arguments of the main class, which a standby driver gets as its order. */
  readonly submission: readonly string[];
  /** Whether a standby driver, which was started without knowing this program, can run it. */
  readonly fitsStandby: boolean;
  /** Only the variables that Spark needs; the caller adds others. */
  readonly env: Readonly<Record<string, string>>;
  readonly propertiesText: string;
  /** The heap. */
  readonly memoryMiB: number;
  /** Settings in the program's options that the server decides; they have no effect. */
  readonly ignored: readonly string[];
}

/** In `jvm/`; passes its arguments to Spark's own SparkSubmit. */
export const driverMainClass = "headgate.driver.Driver";
const scalaMainClass = "headgate.program.ScalaProgram";

export function driverCommandLine(run: DriverRun): DriverCommandLine {
  const { home, program } = run;
  const options = checkProgram(program, { runsHere: runsHere(run.properties), isServerSetting: run.isServerSetting });
  const properties = { ...run.properties, ...Object.fromEntries(options.properties) };
  const hasPython = pythonOf(properties) !== undefined || home.python !== undefined;
  if (!hasPython && isPython(program, options)) throw pythonIsMissing();
  const memoryMiB = options.memoryMiB ?? memoryOf(run.properties) ?? run.defaultMemoryMiB;
  const jvm = {
    home,
    memoryMiB,
    javaOptions: options.javaOptions.length > 0 ? options.javaOptions : javaOptionsOf(run.properties, "spark_config"),
    classPathBefore: options.classPath,
    classPathAfter: run.classPath,
    userHome: run.userHome,
    mainClass: driverMainClass,
  };
  const ownWords = programWords(program, home, options);
  const jars = executorWords(properties, { own: home.ownJars, classPath: run.classPath }, jarsOf(options));
  const submission = ["--properties-file", run.propertiesFile, ...options.words, ...jars, ...ownWords];
  return {
    argv: [...jvmWords(jvm), ...submission],
    submission,
    fitsStandby: fitsStandby(options),
    env: { ...driverEnvironment(home, properties), ...libraryPath(options) },
    propertiesText: renderProperties({ ...logLevel(jvm.javaOptions), ...driverProperties({ ...run, properties }) }),
    memoryMiB,
    ignored: options.ignored,
  };
}

/** The heap that the program's options set; undefined: they set none. Throws if the options are invalid. */
export function statedMemoryMiB(program: DriverProgram): number | undefined {
  return checkProgram(program).memoryMiB;
}

function memoryOf({ "spark.driver.memory": memory }: DriverRun["properties"]): number | undefined {
  return memory === undefined ? undefined : parseMemoryMiB(memory, "spark.driver.memory");
}

function checkProgram(program: DriverProgram, rules: Omit<CheckContext, "field"> = {}): CheckedOptions {
  return program.kind === "command_line"
    ? checkCommandLine(program.words, { ...rules, field: program.field })
    : checkArguments(program.arguments, { ...rules, field: "arguments" });
}

/** The words after the program's own options; Spark uses the last of a repeated option. */
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
      // Spark runs a file that ends in .py with the configured Python, which is the R wrapper here.
      return [...python(home.driverR), `${program.file}.py`, ...program.programArguments];
    case "scala": {
      const wanted = options.given.findLast(({ name }) => name === "--class")?.value;
      return ["--class", scalaMainClass, "spark-internal", program.file, wanted ?? "-", ...program.programArguments];
    }
  }
}

/** Without SparkR, R uses Spark through Python. */
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

/**
 * Otherwise hundreds of lines about Spark's own work surround the few that the program writes. The setting is the level
 * of log4j's root logger, so it is left out if the Java options name a configuration of log4j.
 */
function logLevel(javaOptions: readonly string[]): Record<string, string> {
  const isConfigured = javaOptions.some((word) => /^-Dlog4j2?\.configuration(?:File)?=/.test(word));
  return isConfigured ? {} : { "spark.log.level": "WARN" };
}

/** Includes the program's own properties, because our main class reads them before Spark does. */
function driverProperties(run: DriverRun): Record<string, string> {
  const tags = Object.entries(run.tags);
  const joined = tags.map(([name, value]) => `${name}-${value}`).join(",");
  return {
    "spark.master": "local[*]",
    "spark.local.dir": run.scratchFolder,
    ...(run.program.kind === "command_line" ? {} : { "spark.app.name": basename(run.program.file) }),
    ...JAVA_NETWORKING,
    // A small buffer, so that the progress shows the ends of single tasks.
    "spark.eventLog.buffer.kb": "8",
    // Users cannot change these; a remote cluster sets its own values.
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
    // A program may stop its session and begin another one with the same name.
    "spark.eventLog.overwrite": "true",
    "spark.test.appId": run.applicationId,
    "spark.yarn.tags": joined,
    "spark.log.callerContext": joined,
    ...Object.fromEntries(tags.map(([name, value]) => [`spark.headgate.${name}`, value])),
  };
}
