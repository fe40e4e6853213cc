import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeFinishedFolder, withSetUpLock } from "../../src/processes/set-up/finished-folder.ts";
import { mustRun } from "../../src/processes/set-up/run-tool.ts";
import type { SparkHome } from "../../src/engines/spark-home/spark-home.ts";

export interface JarSet {
  /** Name of the folder, with a version. */
  readonly name: string;
  readonly dependencies: readonly JarDependency[];
  /** Excluded dependencies: `organisation module`. */
  readonly without?: readonly string[];
  /** Hash of the names and contents of all jars. */
  readonly hash: string;
}

export interface JarDependency {
  readonly organisation: string;
  readonly module: string;
  readonly version: string;
  /** Without its dependencies. */
  readonly isAlone?: boolean;
}

const ivySettings = `<ivysettings><settings defaultResolver="repository"/>
<resolvers><ibiblio name="repository" m2compatible="true"/></resolvers></ivysettings>`;

/** Returns the folder of the jars. They are downloaded once per machine, with the Ivy among Spark's jars. */
export async function ivyJars(home: SparkHome, cacheDir: string, set: JarSet): Promise<string> {
  const tools = join(cacheDir, "test-tools");
  const jars = join(tools, set.name);
  mkdirSync(tools, { recursive: true });
  await withSetUpLock(
    `${jars}.lock`,
    new AbortController().signal,
    () => undefined,
    () => makeFinishedFolder(jars, (folder) => download(home, set, folder)),
  );
  return jars;
}

/** The jar of Spark whose name begins with `start`. */
export function sparkJar(home: SparkHome, start: string): string {
  const folder = join(home.folder, "jars");
  return join(folder, readdirSync(folder).find((name) => name.startsWith(start)) ?? start);
}

async function download(home: SparkHome, set: JarSet, folder: string): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), "headgate-ivy-"));
  const file = (name: string): string => join(work, name);
  try {
    writeFileSync(file("ivy.xml"), moduleOf(set));
    writeFileSync(file("settings.xml"), ivySettings);
    const words = ["-cp", sparkJar(home, "ivy-"), "org.apache.ivy.Main", "-warn", "-cache", file("cache")];
    const files = ["-settings", file("settings.xml"), "-ivy", file("ivy.xml")];
    const pattern = join(folder, "[artifact]-[revision](-[classifier]).[ext]");
    await mustRun(`the download of ${set.name}`, [home.java.path, ...words, ...files, "-retrieve", pattern], {
      cwd: work,
    });
    const hash = hashOf(folder);
    if (hash !== set.hash) throw new Error(`the jars of ${set.name} have the hash ${hash} instead of ${set.hash}`);
  } finally {
    rmSync(work, { recursive: true });
  }
}

function moduleOf({ dependencies, without = [] }: JarSet): string {
  const needed = dependencies.map(
    ({ organisation, module, version, isAlone = false }) =>
      `<dependency org="${organisation}" name="${module}" rev="${version}" transitive="${!isAlone}" ` +
      `conf="default->compile,runtime,master"/>`,
  );
  const excluded = without.map((each) => {
    const [organisation, module] = each.split(" ");
    return `<exclude org="${organisation}" module="${module}"/>`;
  });
  return `<ivy-module version="2.0"><info organisation="headgate" module="jars"/><dependencies>
${[...needed, ...excluded].join("\n")}
</dependencies></ivy-module>`;
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
