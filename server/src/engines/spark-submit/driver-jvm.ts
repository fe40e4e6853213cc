import type { ProgramPython } from "../spark-home/program-python.ts";
import type { SparkHome } from "../spark-home/spark-home.ts";
import { runsHere } from "./executor-jars.ts";

type Properties = Readonly<Record<string, string>>;

/** The JVM of a driver, for any main class. */
export interface DriverJvm {
  readonly home: DriverHome;
  /** The heap. */
  readonly memoryMiB: number;
  readonly javaOptions: readonly string[];
  /** Set explicitly, because Java finds no home for a uid without an entry in passwd. */
  readonly userHome: string;
  /** Before Spark's own jars. With such entries the class-data archive cannot be used. */
  readonly classPathBefore: readonly string[];
  /** After Spark's own jars. */
  readonly classPathAfter: readonly string[];
  readonly mainClass: string;
}

/** The parts of an installed Spark that the command line needs. */
export interface DriverHome extends Pick<
  SparkHome,
  "folder" | "javaArguments" | "classPath" | "ownJars" | "driverPython" | "driverR" | "archive"
> {
  readonly java: Pick<SparkHome["java"], "path" | "home">;
  readonly python: Pick<ProgramPython, "path" | "localPath"> | undefined;
}

/**
 * Java's optimising compiler starts ten times later than by default, in drivers and in warm servers. In a short program,
 * and while a server starts, it would use half of the CPU time on code that soon no longer runs. Code that a long query
 * repeats still reaches these thresholds within a fraction of a second. CPU seconds of programs on two busy cores:
 * SELECT 1 takes 7.5 instead of 12.7 (19.6 with spark-submit), an aggregation over 60 million rows 18.5 instead of 23.1.
 * Without that compiler SELECT 1 takes 5.7, but long programs would be slower. The Java options of a program, cluster or
 * app come later and override these.
 */
export const DELAYED_COMPILATION = [
  "-XX:Tier4InvocationThreshold=50000",
  "-XX:Tier4MinInvocationThreshold=6000",
  "-XX:Tier4CompileThreshold=150000",
  "-XX:Tier4BackEdgeThreshold=400000",
];

/** The words up to and including the main class. */
export function jvmWords(jvm: DriverJvm): string[] {
  const { home, memoryMiB, javaOptions, userHome, mainClass } = jvm;
  const own = [`-Xmx${memoryMiB}m`, `-Duser.home=${userHome}`];
  const words = [home.java.path, `@${home.javaArguments}`, ...own, ...DELAYED_COMPILATION, ...classData(jvm)];
  return [...words, ...javaOptions, mainClass];
}

/** An archive requires a class path that begins like its own; with `-Xshare:auto` Java can start without it. */
function classData({ home, classPathBefore, classPathAfter }: DriverJvm): string[] {
  const all = [...classPathBefore, ...home.classPath, ...classPathAfter];
  const ownPath = all.length === home.classPath.length ? [] : ["-cp", all.join(":")];
  if (classPathBefore.length > 0 || home.archive === undefined) return ownPath;
  return [...ownPath, `-XX:SharedArchiveFile=${home.archive}`, "-Xshare:auto", "-Xlog:cds=off"];
}

/** The interpreter of a Python program in the driver, by Spark's own rule; executors may have another. */
export function pythonOf(properties: Properties): string | undefined {
  return properties["spark.pyspark.driver.python"] ?? properties["spark.pyspark.python"];
}

/** Only the variables that Spark needs. */
export function driverEnvironment(home: DriverHome, properties: Properties): Record<string, string> {
  const python = pythonOf(properties) ?? home.python?.localPath;
  const driver = python === undefined ? {} : { HEADGATE_DRIVER_PYTHON: python };
  return { ...sparkEnvironment(home, properties), ...driver };
}

/** The variables that every Spark process of this node gets. */
export function sparkEnvironment(
  home: Pick<DriverHome, "folder" | "java" | "python">,
  properties: Properties,
): Record<string, string> {
  // Executors elsewhere know the machine's interpreter at most.
  const worker = runsHere(properties) ? home.python?.localPath : home.python?.path;
  return {
    SPARK_HOME: home.folder,
    SPARK_LOCAL_IP: "127.0.0.1",
    SPARK_SCALA_VERSION: "2.13",
    JAVA_HOME: home.java.home,
    ...(worker === undefined ? {} : { PYSPARK_PYTHON: worker }),
  };
}
