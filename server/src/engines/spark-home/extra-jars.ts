import { createHash } from "node:crypto";
import { createReadStream, readFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { Fault } from "../../lib/fault.ts";
import { makeFinishedFolder } from "../../processes/set-up/finished-folder.ts";
import { pinnedHadoop } from "./pinned-spark.ts";
import type { Java } from "./find-java.ts";
import { mustRun } from "../../processes/set-up/run-tool.ts";
import type { SetUpContext } from "../../processes/set-up/set-up-step.ts";
import { totalBytes, watchFolder } from "../../processes/set-up/watch-folder.ts";

export interface PinnedJar {
  readonly group: string;
  readonly artifact: string;
  readonly version: string;
  readonly sha256: string;
}

/** The jars of extra-jars.txt that this Spark lacks, without s3a if it is for another version of Hadoop. */
export function jarsFor(sparkJars: readonly string[]): PinnedJar[] {
  const list = parsePinnedJars(readFileSync(new URL("extra-jars.txt", import.meta.url), "utf8"));
  const sameHadoop = sparkJars.includes(`hadoop-client-api-${pinnedHadoop}.jar`);
  const hasS3a = sparkJars.some((name) => name.startsWith("hadoop-aws-"));
  return list.filter(({ group, artifact }) => {
    if (sparkJars.some((name) => name.startsWith(`${artifact}-`) && /^\d/.test(name.slice(artifact.length + 1)))) {
      return false;
    }
    return group === "org.postgresql" || (sameHadoop && !hasS3a);
  });
}

export function parsePinnedJars(text: string): PinnedJar[] {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return lines.map((line) => {
    const match = /^([0-9a-f]{64}) {2}([^:]+):([^:]+):([^:]+)$/.exec(line);
    if (match === null) throw new Error(`a list of jars has an invalid line: ${line}`);
    const [, sha256 = "", group = "", artifact = "", version = ""] = match;
    return { group, artifact, version, sha256 };
  });
}

/** Named after its content, so that a changed list gets a new folder and a running Spark keeps its own. */
export function jarsFolder(cacheDir: string, sparkVersion: string, name: string, jars: readonly PinnedJar[]): string {
  const digest = createHash("sha256").update(JSON.stringify(jars)).digest("hex").slice(0, 8);
  return join(cacheDir, `spark-${sparkVersion}-${name}-${digest}`);
}

export function extraJarsFolder(cacheDir: string, sparkVersion: string, jars: readonly PinnedJar[]): string {
  return jarsFolder(cacheDir, sparkVersion, "jars", jars);
}

export async function fetchExtraJars(
  folder: string,
  jars: readonly PinnedJar[],
  tools: DownloadTools,
  context: SetUpContext,
): Promise<void> {
  await downloadJars({ folder, jars, text: `Downloading ${jars.length} jars that Spark lacks` }, tools, context);
}

/** The Ivy of a Spark; undefined: it has none. */
export async function findIvy(sparkHome: string): Promise<string | undefined> {
  const name = (await listJars(join(sparkHome, "jars"))).find((jar) => jar.startsWith("ivy-"));
  return name && join(sparkHome, "jars", name);
}

export interface DownloadTools {
  /** The Ivy inside Spark, so that no build tool is needed. */
  readonly ivyJar: string;
  readonly java: Java;
}

export interface JarDownload {
  readonly folder: string;
  readonly jars: readonly PinnedJar[];
  /** Describes it to people. */
  readonly text: string;
}

/** The folder appears when it is complete. The caller holds a lock. */
export async function downloadJars(
  { folder, jars, text }: JarDownload,
  { ivyJar, java }: DownloadTools,
  { signal, progress }: Pick<SetUpContext, "signal" | "progress">,
): Promise<void> {
  await makeFinishedFolder(folder, async (unfinished) => {
    progress({ text });
    const work = await mkdtemp(join(unfinished, "work-"));
    const fetched = join(work, "fetched");
    await mkdir(fetched);
    await writeFile(join(work, "settings.xml"), ivySettings);
    await writeFile(join(work, "ivy.xml"), ivyModule(jars));
    const ivy = [
      java.path,
      "-XX:+UseSerialGC",
      "-XX:TieredStopAtLevel=1",
      "-cp",
      ivyJar,
      "org.apache.ivy.Main",
      "-warn",
    ];
    const files = [
      "-settings",
      join(work, "settings.xml"),
      "-ivy",
      join(work, "ivy.xml"),
      "-cache",
      join(work, "cache"),
    ];
    const pattern = join(fetched, "[artifact]-[revision].[ext]");
    const stopWatching = watchFolder(join(work, "cache"), (found) => progress({ text, bytes: totalBytes(found) }));
    try {
      await mustRun("the download of jars by Ivy", [...ivy, ...files, "-retrieve", pattern], { signal, cwd: work });
    } finally {
      stopWatching();
    }
    for (const jar of jars) {
      const name = `${jar.artifact}-${jar.version}.jar`;
      await verify(join(fetched, name), jar);
      await rename(join(fetched, name), join(unfinished, name));
    }
    await rm(work, { recursive: true });
  });
}

async function verify(path: string, { artifact, sha256 }: PinnedJar): Promise<void> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  if (hash.digest("hex") === sha256) return;
  const message = `the SHA-256 of ${artifact} from the Maven repository differs from the pinned one`;
  throw new Fault("unavailable", message);
}

/** POM files would only cost round trips: the list is complete and has its own hashes. */
const ivySettings = `<ivysettings>
  <property name="ivy.checksums" value=""/>
  <settings defaultResolver="repository"/>
  <resolvers><ibiblio name="repository" m2compatible="true" usepoms="false" useMavenMetadata="false"/></resolvers>
</ivysettings>
`;

function ivyModule(jars: readonly PinnedJar[]): string {
  const dependencies = jars.map(
    ({ group, artifact, version }) =>
      `<dependency org="${group}" name="${artifact}" rev="${version}" transitive="false"/>`,
  );
  return `<ivy-module version="2.0"><info organisation="headgate" module="jars"/><dependencies>${dependencies.join("")}</dependencies></ivy-module>\n`;
}

export async function listJars(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => name.endsWith(".jar")).sort();
}
