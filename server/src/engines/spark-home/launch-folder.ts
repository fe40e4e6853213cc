import { createHash } from "node:crypto";
import { mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "../../lib/fault.ts";
import { makeFinishedFolder } from "../set-up/finished-folder.ts";
import { scalaVersion } from "./pinned-spark.ts";
import type { Java } from "./find-java.ts";
import { rscripts } from "./find-r.ts";
import { mustRun } from "../set-up/run-tool.ts";

/**
 * What a direct start of Spark's JVM needs, kept apart per build of Java and set of jars:
 *
 *   java.args       class path and the options of Spark's own launcher, as a file for `java @file`
 *   wrappers/       what runs instead of an interpreter: python, R
 *   classes.jsa     the class-data archive; may be missing
 */
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
  // An archive is bound to the very files: a copied cache with other times gets one of its own. And a folder that is
  // there is never changed: another wrapper is in another folder.
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
    const options = await askLauncher(java, sparkHome);
    await writeFile(
      join(unfinished, "java.args"),
      argumentFile(["-cp", classPath.join(":"), ...options, ...archiveInPlace]),
    );
    await mkdir(join(unfinished, "wrappers"));
    for (const [name, script] of Object.entries(wrappers)) await writeFile(join(unfinished, "wrappers", name), script);
  });
}

/**
 * Newer builds of Java move a class-data archive to a random address, and so copy all of it into the memory of every
 * process: 190 MB of a metastore's 440. At its own place it is shared by all of them, and nothing is to be moved.
 */
const archiveInPlace = ["-XX:+UnlockDiagnosticVMOptions", "-XX:ArchiveRelocationMode=0"];

/** Spark's launcher knows which modules to open in which Java; it prints words that end in NUL. */
async function askLauncher(java: Java, sparkHome: string): Promise<string[]> {
  const env = { SPARK_HOME: sparkHome, SPARK_SCALA_VERSION: scalaVersion, JAVA_HOME: java.home, PATH: "/usr/bin:/bin" };
  const launcher = ["-cp", join(sparkHome, "jars/*"), "org.apache.spark.launcher.Main"];
  const submit = ["org.apache.spark.deploy.SparkSubmit", "program.py"];
  const { stdout } = await mustRun("Spark's launcher", [java.path, ...launcher, ...submit], { env });
  const { stdout: modules } = await mustRun("the list of Java's modules", [java.path, "--list-modules"]);
  return withoutMissingModules(parseLauncherOptions(stdout), modules);
}

/** Spark adds a module that speeds up some of its arithmetic. A Java that lacks the module would not start. */
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

/** As java(1) reads it: each argument on a line, in double quotes. */
export function argumentFile(words: readonly string[]): string {
  return words.map((word) => `"${word.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"\n`).join("");
}

/**
 * Spark merges a program's standard error into its output, of Python and of R. So the program gets the standard error of
 * its parent, Spark's JVM, which leads to the log. It is opened anew, so it has to be a file or pipe that the program's
 * user owns; where that fails the two stay merged rather than lost.
 */
const throughTheLog = `log=/proc/$PPID/fd/2
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
${throughTheLog}`,
  // Spark without SparkR is told that the program is Python's, and so its name ends. R then finds Python's Spark.
  R: `#!/bin/sh
program=\${1%.py}
shift
for rscript in ${rscripts.join(" ")}; do
  [ -x "$rscript" ] && break
done
export RETICULATE_PYTHON="$PYSPARK_PYTHON"
unset HEADGATE_DRIVER_PYTHON
set -- "$rscript" "$program" "$@"
${throughTheLog}`,
};
