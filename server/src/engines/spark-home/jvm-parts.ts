import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeFinishedFolder } from "../../processes/set-up/finished-folder.ts";
import type { Java } from "./find-java.ts";
import { mustRun } from "../../processes/set-up/run-tool.ts";
import type { SetUpContext } from "../../processes/set-up/set-up-step.ts";

const sourceFolder = fileURLToPath(new URL("../../../../jvm/", import.meta.url));
/** Targets the oldest Java that Spark supports. The unchecked option also works with a Java that has no compiler. */
const compilerOptions = ["-usejavacp", "-nowarn", "-Xunchecked-java-output-version:17"];
const EXTENDS_S3A = "storage/NoAccountKeys.scala";
/** A service that Spark looks for in all jars, and our class for it. The compiler writes no such files. */
const service = ["org.apache.spark.sql.SparkSessionExtensionsProvider", "headgate.storage.LongLocations"];

/** Headgate's own classes for Spark's JVMs (`jvm/`), as one jar in a folder of the cache. */
export interface JvmParts {
  readonly folder: string;
  readonly jar: string;
}

/** An operator's own Spark may lack s3a, or have one for an earlier AWS SDK. */
export function hasS3a(classPath: readonly string[]): boolean {
  const names = classPath.map((path) => basename(path));
  return [/^hadoop-aws-\d/, /^(?:auth|bundle)-2\./].every((jar) => names.some((name) => jar.test(name)));
}

/** Named after the sources and the class path, so that another Spark or Java gets another folder. */
export function jvmPartsFor(cacheDir: string, java: Java, sparkClassPath: readonly string[]): JvmParts {
  const sources = sourceFiles(sparkClassPath).map((name) => [name, readFileSync(join(sourceFolder, name), "utf8")]);
  const digest = createHash("sha256")
    .update(
      JSON.stringify([compilerOptions, service, java.build, sparkClassPath.map((path) => basename(path)), sources]),
    )
    .digest("hex")
    .slice(0, 12);
  const folder = join(cacheDir, `headgate-jvm-${digest}`);
  return { folder, jar: join(folder, "headgate-jvm.jar") };
}

/** Uses the Scala compiler among Spark's jars, so that neither a JDK nor a build tool is needed. */
export async function compileJvmParts(
  { folder, jar }: JvmParts,
  java: Java,
  sparkClassPath: readonly string[],
  { signal, progress }: SetUpContext,
): Promise<void> {
  await makeFinishedFolder(folder, async (unfinished) => {
    progress({ text: "Compiling Headgate's classes for Spark" });
    const jvm = [java.path, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", sparkClassPath.join(":")];
    const output = join(unfinished, basename(jar));
    const compiler = ["scala.tools.nsc.Main", ...compilerOptions, "-d", output, ...sourceFiles(sparkClassPath)];
    await mustRun("the compilation of Headgate's Scala sources", [...jvm, ...compiler], { signal, cwd: sourceFolder });
    const addition = ["-cp", [output, ...sparkClassPath].join(":"), "headgate.setup.AddService", output, ...service];
    await mustRun("the completion of Headgate's classes for Spark", [java.path, ...addition], { signal });
  });
}

function sourceFiles(sparkClassPath: readonly string[]): string[] {
  const names = readdirSync(sourceFolder, { recursive: true, encoding: "utf8" });
  const used = hasS3a(sparkClassPath) ? names : names.filter((name) => name !== EXTENDS_S3A);
  return used.filter((name) => name.endsWith(".scala")).sort();
}
