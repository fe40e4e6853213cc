/**
 * A driver that waits for its program (`jvm/standby`). It has already run a session, so a program starts in a fifth of
 * the time of a cold start. All settings of the JVM are the same as in a driver that is started for its program.
 *
 *   JVM ──"READY\n" on standard output──▶ waiting ──hand-over on standard input, then its end──▶ the driver itself
 */
import { Fault } from "../../lib/fault.ts";
import { JAVA_NETWORKING } from "../spark-home/java-networking.ts";
import { driverEnvironment, jvmWords, type DriverHome } from "./driver-jvm.ts";
import { parseMemoryMiB } from "./setting-values.ts";
import { renderProperties } from "./properties-file.ts";
import { javaOptionsOf } from "./java-options.ts";

export interface StandbyRun {
  readonly home: DriverHome;
  /** The properties of the cluster and the account, some of which apply to the whole JVM. May hold secrets. */
  readonly properties: Readonly<Record<string, string>>;
  readonly classPath: readonly string[];
  /** The caller writes `propertiesText` to this file, with mode 0600, owned by the driver's user. */
  readonly propertiesFile: string;
  readonly defaultMemoryMiB: number;
  /** Must be the program's own, because a JVM keeps the first one that it gets. */
  readonly scratchFolder: string;
  readonly userHome: string;
}

export interface StandbyCommandLine {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly propertiesText: string;
  readonly memoryMiB: number;
}

/** Written to standard output when the driver is ready; the program's output follows. */
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
    classPathAfter: run.classPath,
    userHome: run.userHome,
    mainClass: "headgate.standby.StandbyDriver",
  };
  const settings = {
    "spark.local.dir": run.scratchFolder,
    ...JAVA_NETWORKING,
    ...properties,
    "spark.master": "local[1]", // the warm-up session never uses the cluster
    "spark.authenticate": "true",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
  };
  return {
    argv: [...jvmWords(jvm), run.propertiesFile],
    env: driverEnvironment(home, properties),
    propertiesText: renderProperties(settings),
    memoryMiB,
  };
}

/** The text for its standard input, to be written at once. `submission`: from the program's own command line. */
export function renderHandOver(submission: readonly string[]): string {
  if (submission.some((word) => word.includes("\0"))) throw new Fault("invalid", "an argument contains a NUL");
  return [String(submission.length), ...submission].map((word) => `${word}\0`).join("");
}
