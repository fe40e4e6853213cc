import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeFinishedFolder } from "../../src/engines/spark-home/finished-folder.ts";
import { mustRun } from "../../src/engines/spark-home/run-tool.ts";
import { withSetUpLock } from "../../src/engines/spark-home/set-up-lock.ts";
import type { SparkHome } from "../../src/engines/spark-home/spark-home.ts";

const version = "3.4.3";
/** Of the names and contents of all of them. */
const hash = "3cb86f49535333545b3ecc2ffc8b2812bc4db5ae8059aff510b016bad55b49a8";
const source = fileURLToPath(new URL("MiniHadoop.scala", import.meta.url));

const dependency = (org: string, name: string, revision: string): string =>
  `<dependency org="${org}" name="${name}" rev="${revision}" conf="default->compile,runtime,master"/>`;
const ivyModule = `<ivy-module version="2.0"><info organisation="headgate" module="mini-hadoop"/><dependencies>
${dependency("org.apache.hadoop", "hadoop-minicluster", version)}
${dependency("org.mockito", "mockito-core", "4.11.0")}
${dependency("junit", "junit", "4.13.2")}
</dependencies></ivy-module>`;
const ivySettings = `<ivysettings><settings defaultResolver="repository"/>
<resolvers><ibiblio name="repository" m2compatible="true"/></resolvers></ivysettings>`;

/** The class path of `MiniHadoop.scala`. Downloaded and compiled once per machine, by what is among Spark's jars. */
export async function miniHadoopClassPath(home: SparkHome, cacheDir: string): Promise<string> {
  const tools = join(cacheDir, "test-tools");
  const digest = createHash("sha256").update(readFileSync(source)).digest("hex").slice(0, 12);
  const [jars, main] = [join(tools, `mini-hadoop-${version}`), join(tools, `mini-hadoop-main-${digest}`)];
  const names = await readdir(join(home.folder, "jars"));
  const sparkJar = (start: string): string =>
    join(home.folder, "jars", names.find((name) => name.startsWith(start)) ?? start);
  mkdirSync(tools, { recursive: true });
  const { signal } = new AbortController();
  await withSetUpLock(
    join(tools, "mini-hadoop.lock"),
    signal,
    () => undefined,
    async () => {
      await makeFinishedFolder(jars, (folder) => download(home.java.path, sparkJar("ivy-"), folder));
      await makeFinishedFolder(main, async (folder) => {
        const compiler = ["scala-compiler-", "scala-library-", "scala-reflect-"].map(sparkJar).join(":");
        const words = ["scala.tools.nsc.Main", "-cp", `${join(jars, "*")}:${sparkJar("scala-library-")}`];
        await mustRun("the compilation", [home.java.path, "-cp", compiler, ...words, "-d", folder, source]);
      });
    },
  );
  return [main, join(jars, "*"), sparkJar("scala-library-")].join(":");
}

/** 185 jars, 110 MB. */
async function download(java: string, ivyJar: string, folder: string): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), "headgate-ivy-"));
  const file = (name: string): string => join(work, name);
  try {
    writeFileSync(file("ivy.xml"), ivyModule);
    writeFileSync(file("settings.xml"), ivySettings);
    const words = ["-cp", ivyJar, "org.apache.ivy.Main", "-warn", "-cache", file("cache")];
    const files = ["-settings", file("settings.xml"), "-ivy", file("ivy.xml")];
    const pattern = join(folder, "[artifact]-[revision](-[classifier]).[ext]");
    await mustRun("the download of Hadoop", [java, ...words, ...files, "-retrieve", pattern], { cwd: work });
    if (hashOf(folder) !== hash) throw new Error("the jars of Hadoop are not those that were chosen");
  } finally {
    rmSync(work, { recursive: true });
  }
}

function hashOf(folder: string): string {
  const all = createHash("sha256");
  for (const name of readdirSync(folder).toSorted()) {
    all.update(name).update(
      createHash("sha256")
        .update(readFileSync(join(folder, name)))
        .digest(),
    );
  }
  return all.digest("hex");
}
