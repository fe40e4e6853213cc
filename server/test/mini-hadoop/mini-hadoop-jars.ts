import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeFinishedFolder, withSetUpLock } from "../../src/processes/set-up/finished-folder.ts";
import { mustRun } from "../../src/processes/set-up/run-tool.ts";
import type { SparkHome } from "../../src/engines/spark-home/spark-home.ts";
import { ivyJars, sparkJar, type JarSet } from "../support/ivy-jars.ts";

const version = "3.4.3";
/** 185 jars, 110 MB. */
const hadoop: JarSet = {
  name: `mini-hadoop-${version}`,
  dependencies: [
    { organisation: "org.apache.hadoop", module: "hadoop-minicluster", version },
    { organisation: "org.mockito", module: "mockito-core", version: "4.11.0" },
    { organisation: "junit", module: "junit", version: "4.13.2" },
  ],
  hash: "3cb86f49535333545b3ecc2ffc8b2812bc4db5ae8059aff510b016bad55b49a8",
};
const source = fileURLToPath(new URL("MiniHadoop.scala", import.meta.url));

/** The class path of `MiniHadoop.scala`. Downloaded and compiled once per machine, with tools among Spark's jars. */
export async function miniHadoopClassPath(home: SparkHome, cacheDir: string): Promise<string> {
  const jars = await ivyJars(home, cacheDir, hadoop);
  const digest = createHash("sha256").update(readFileSync(source)).digest("hex").slice(0, 12);
  const main = join(cacheDir, "test-tools", `mini-hadoop-main-${digest}`);
  const library = sparkJar(home, "scala-library-");
  await withSetUpLock(
    `${main}.lock`,
    new AbortController().signal,
    () => undefined,
    () =>
      makeFinishedFolder(main, async (folder) => {
        const compiler = ["scala-compiler-", "scala-library-", "scala-reflect-"].map((start) => sparkJar(home, start));
        const words = ["scala.tools.nsc.Main", "-cp", `${join(jars, "*")}:${library}`, "-d", folder, source];
        await mustRun("the compilation", [home.java.path, "-cp", compiler.join(":"), ...words]);
      }),
  );
  return [main, join(jars, "*"), library].join(":");
}
