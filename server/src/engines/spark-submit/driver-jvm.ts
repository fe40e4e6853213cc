import type { OwnJars } from "../spark-home/spark-home.ts";

/** The JVM of a driver, whichever main class it runs. Pure. */
export interface DriverJvm {
  readonly home: DriverHome;
  /** The heap. */
  readonly memoryMiB: number;
  readonly javaOptions: readonly string[];
  /** Set explicitly, because Java finds no home for a uid without an entry in passwd. */
  readonly userHome: string;
  /** Before Spark's own jars: costs the archive. */
  readonly classPathBefore: readonly string[];
  /** Behind them. */
  readonly classPathBehind: readonly string[];
  readonly mainClass: string;
}

/** What the line needs of an installed Spark. */
export interface DriverHome {
  readonly folder: string;
  readonly java: { readonly path: string; readonly home: string };
  readonly python: { readonly path: string } | undefined;
  readonly javaArguments: string;
  readonly classPath: readonly string[];
  readonly ownJars: OwnJars;
  readonly driverPython: string;
  readonly driverR: string;
  readonly archive: string | undefined;
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

/** Up to the main class. */
export function jvmWords(jvm: DriverJvm): string[] {
  const { home, memoryMiB, javaOptions, userHome, mainClass } = jvm;
  const own = [`-Xmx${memoryMiB}m`, `-Duser.home=${userHome}`];
  const words = [home.java.path, `@${home.javaArguments}`, ...own, ...patientCompiler, ...classData(jvm)];
  return [...words, ...javaOptions, mainClass];
}

/** An archive fits only a class path that begins as its own did; `-Xshare:auto` goes on without one. */
function classData({ home, classPathBefore, classPathBehind }: DriverJvm): string[] {
  const all = [...classPathBefore, ...home.classPath, ...classPathBehind];
  const ownPath = all.length === home.classPath.length ? [] : ["-cp", all.join(":")];
  if (classPathBefore.length > 0 || home.archive === undefined) return ownPath;
  return [...ownPath, `-XX:SharedArchiveFile=${home.archive}`, "-Xshare:auto", "-Xlog:cds=off"];
}

/** The interpreter that a program of Python's shall have here, as Spark itself would read it; executors may have others. */
export function pythonOf(properties: Readonly<Record<string, string>>): string | undefined {
  return properties["spark.pyspark.driver.python"] ?? properties["spark.pyspark.python"];
}

/** Only what Spark needs. `python`: runs the program, if it is one of Python's. */
export function driverEnvironment(home: DriverHome, python = home.python?.path): Record<string, string> {
  return {
    SPARK_HOME: home.folder,
    SPARK_LOCAL_IP: "127.0.0.1",
    SPARK_SCALA_VERSION: "2.13",
    JAVA_HOME: home.java.home,
    ...(home.python === undefined ? {} : { PYSPARK_PYTHON: home.python.path }),
    ...(python === undefined ? {} : { HEADGATE_DRIVER_PYTHON: python }),
  };
}
