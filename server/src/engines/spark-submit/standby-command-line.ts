import { Fault } from "../../lib/fault.ts";
import { driverEnvironment, jvmWords, pythonOf, type DriverHome } from "./driver-jvm.ts";
import { parseMemoryMiB } from "./memory-size.ts";
import { renderProperties } from "./properties-file.ts";
import { javaOptionsOf } from "./java-options.ts";

/**
 * A driver that waits for its program (`jvm/standby`): it has run a session already and goes on, told what to do, in a
 * fifth of the time of a cold start. Whatever shapes the JVM is the same as for one that is started for its program.
 *
 *   JVM ──"READY\n" on standard output──▶ waiting ──hand-over on standard input, then its end──▶ the driver itself
 */
export interface StandbyRun {
  readonly home: DriverHome;
  /** The cluster's and the account's: those that count for a whole JVM do so from its start. May hold secrets. */
  readonly properties: Readonly<Record<string, string>>;
  readonly classPath: readonly string[];
  /** Where the caller writes `propertiesText`, mode 0600, owned by the driver's user. */
  readonly propertiesFile: string;
  readonly defaultMemoryMiB: number;
  /** The same that the program will be told: a JVM keeps to the first. */
  readonly scratchFolder: string;
  readonly userHome: string;
}

export interface StandbyCommandLine {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly propertiesText: string;
  readonly memoryMiB: number;
}

/** What it writes when it waits; what follows on standard output is the program's. */
export const standbyReady = "READY\n";

export function standbyCommandLine(run: StandbyRun): StandbyCommandLine {
  const { home, properties } = run;
  const { "spark.driver.memory": memory } = properties;
  const memoryMiB = memory === undefined ? run.defaultMemoryMiB : parseMemoryMiB(memory, "spark.driver.memory");
  const jvm = {
    home,
    memoryMiB,
    javaOptions: javaOptionsOf(properties, "spark_config"),
    classPathBefore: [],
    classPathBehind: run.classPath,
    userHome: run.userHome,
    mainClass: "headgate.standby.StandbyDriver",
  };
  const settings = {
    "spark.local.dir": run.scratchFolder,
    ...properties,
    "spark.master": "local[1]", // whatever the cluster: nobody else learns of the session that is thrown away
    "spark.authenticate": "true",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
  };
  return {
    argv: [...jvmWords(jvm), run.propertiesFile],
    env: driverEnvironment(home, pythonOf(properties)),
    propertiesText: renderProperties(settings),
    memoryMiB,
  };
}

/** What to write to its standard input, in one go; `submission` of the program's own command line. */
export function renderHandOver(submission: readonly string[]): string {
  if (submission.some((word) => word.includes("\0"))) throw new Fault("invalid", "an argument holds a NUL");
  return [String(submission.length), ...submission].map((word) => `${word}\0`).join("");
}
