/**
 * The files for a direct start of Spark's JVM, one folder for each build of Java and set of jars:
 *
 *   java.args       class path and the options of Spark's own launcher, as a file for `java @file`
 *   wrappers/       scripts that replace the interpreters: python, R
 *   classes.jsa     the class-data archive; may be missing
 */
import { createHash } from "node:crypto";
import { mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "../../lib/fault.ts";
import { makeFinishedFolder } from "../../processes/set-up/finished-folder.ts";
import { scalaVersion } from "./pinned-spark.ts";
import type { Java } from "./find-java.ts";
import { rscripts } from "./find-r.ts";
import { mustRun } from "../../processes/set-up/run-tool.ts";

export interface LaunchFolder {
  readonly folder: string;
  readonly javaArguments: string;
  readonly driverPython: string;
  readonly driverR: string;
  readonly archive: string;
}

export async function launchFolderFor(
  cacheDir: string,
  java: Java,
  classPath: readonly string[],
): Promise<LaunchFolder> {
  // An archive is valid only for exactly these files, so a copied cache with other times gets its own. An existing folder
  // is never changed: another version of a wrapper goes into another folder.
  const files = await Promise.all(
    classPath.map(async (path) => {
      const { size, mtimeMs } = await stat(path);
      return [path, size, Math.floor(mtimeMs / 1000)];
    }),
  );
  const digest = createHash("sha256")
    .update(JSON.stringify([wrappers, archiveInPlace, java, files]))
    .digest("hex")
    .slice(0, 12);
  const folder = join(cacheDir, `spark-launch-${digest}`);
  return {
    folder,
    javaArguments: join(folder, "java.args"),
    driverPython: join(folder, "wrappers/python"),
    driverR: join(folder, "wrappers/R"),
    archive: join(folder, "classes.jsa"),
  };
}

export async function makeLaunchFolder(
  { folder }: LaunchFolder,
  java: Java,
  sparkHome: string,
  classPath: readonly string[],
): Promise<void> {
  await makeFinishedFolder(folder, async (unfinished) => {
    const options = await readLauncherOptions(java, sparkHome);
    await writeFile(
      join(unfinished, "java.args"),
      argumentFile(["-cp", classPath.join(":"), ...options, ...archiveInPlace]),
    );
    await mkdir(join(unfinished, "wrappers"));
    for (const [name, script] of Object.entries(wrappers)) await writeFile(join(unfinished, "wrappers", name), script);
  });
}

/**
 * Newer builds of Java map a class-data archive at a random address, which copies it into the memory of every process:
 * 190 of a metastore's 440 MB. At its preferred address all processes share it.
 */
const archiveInPlace = ["-XX:+UnlockDiagnosticVMOptions", "-XX:ArchiveRelocationMode=0"];

/** Spark's launcher knows which modules to open in which Java. It prints words that end with NUL. */
async function readLauncherOptions(java: Java, sparkHome: string): Promise<string[]> {
  const env = { SPARK_HOME: sparkHome, SPARK_SCALA_VERSION: scalaVersion, JAVA_HOME: java.home, PATH: "/usr/bin:/bin" };
  const launcher = ["-cp", join(sparkHome, "jars/*"), "org.apache.spark.launcher.Main"];
  const submit = ["org.apache.spark.deploy.SparkSubmit", "program.py"];
  const { stdout } = await mustRun("Spark's launcher", [java.path, ...launcher, ...submit], { env });
  const { stdout: modules } = await mustRun("the list of Java's modules", [java.path, "--list-modules"]);
  return withoutMissingModules(parseLauncherOptions(stdout), modules);
}

/** Spark adds a module for faster arithmetic. A Java without this module would not start. */
export function withoutMissingModules(options: readonly string[], modules: string): string[] {
  const names = new Set(modules.split("\n").map((line) => line.replace(/@.*$/, "").trim()));
  const option = "--add-modules=";
  return options.filter((word) => {
    if (!word.startsWith(option)) return true;
    return word
      .slice(option.length)
      .split(",")
      .every((name) => names.has(name));
  });
}

export function parseLauncherOptions(stdout: string): string[] {
  const words = stdout.split("\0").map((word) => word.replace(/^\n+/, ""));
  const [first, last] = [words.indexOf("-cp"), words.indexOf("org.apache.spark.deploy.SparkSubmit")];
  if (first === -1 || last === -1) throw new Fault("unavailable", "Spark's launcher did not print a command line");
  return words.slice(first + 2, last).filter((word) => !word.startsWith("-Xmx"));
}

/** The format of java(1): one argument per line, in double quotes. */
export function argumentFile(words: readonly string[]): string {
  return words.map((word) => `"${word.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"\n`).join("");
}

/**
 * Spark merges the standard error of Python and R programs into their output. Therefore the program gets the standard
 * error of its parent, Spark's JVM, which goes to the log. It is reopened, so it must be a file or pipe that the
 * program's user owns. If that fails, the two stay merged.
 */
const stderrToLog = `log=/proc/$PPID/fd/2
if (: >>"$log") 2>/dev/null; then
  exec 2>>"$log"
fi
exec "$@"
`;

const wrappers = {
  python: `#!/bin/sh
python=$HEADGATE_DRIVER_PYTHON
unset HEADGATE_DRIVER_PYTHON
set -- "$python" "$@"
${stderrToLog}`,
  // Spark without SparkR gets the program under a name that ends in .py. R then uses PySpark.
  R: `#!/bin/sh
program=\${1%.py}
shift
for rscript in ${rscripts.join(" ")}; do
  [ -x "$rscript" ] && break
done
export RETICULATE_PYTHON="$PYSPARK_PYTHON"
unset HEADGATE_DRIVER_PYTHON
set -- "$rscript" "$program" "$@"
${stderrToLog}`,
};
