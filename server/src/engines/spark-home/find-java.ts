import { readdirSync } from "node:fs";
import { join } from "node:path";
import { otherUsersCanRun, otherUsersHint, probeTool } from "../../processes/set-up/run-tool.ts";
import { oldestJava } from "./pinned-spark.ts";

export interface Java {
  readonly path: string;
  readonly home: string;
  /** The exact build, with its vendor: a class-data archive works only with the build that wrote it. */
  readonly build: string;
}

/** Tries `JAVA_HOME`, then the PATH, then all installed Javas. */
export async function findJava(javaHome: string | undefined): Promise<Java | undefined> {
  const named = javaHome === undefined ? [] : [javaHome];
  return (await findJavaIn(named)) ?? (await tryJava("java")) ?? findJavaIn(installedJavas());
}

export async function findJavaIn(homes: readonly string[]): Promise<Java | undefined> {
  for (const home of homes) {
    const found = await tryJava(join(home, "bin/java"));
    if (found !== undefined) return found;
  }
  return undefined;
}

async function tryJava(program: string): Promise<Java | undefined> {
  const found = await probeTool([program, "-XshowSettings:properties", "-version"], parseJavaSettings);
  return found !== undefined && (await otherUsersCanRun([found.path, "-version"])) ? found : undefined;
}

export function parseJavaSettings(output: string): Java | undefined {
  const value = (key: string): string => new RegExp(`^\\s*${key} = (.*)$`, "m").exec(output)?.[1]?.trim() ?? "";
  const [major = 0] = value("java.specification.version").split(".").map(Number);
  const home = value("java.home");
  if (home === "" || major < oldestJava) return undefined;
  const build = ["java.vm.vendor", "java.vm.version", "os.arch"].map(value).join(" ");
  return { path: join(home, "bin/java"), home, build };
}

/** Part of a message that says what is missing. */
export function javaNeeded(): string {
  return `Java ${oldestJava} or newer${otherUsersHint}`;
}

function installedJavas(): string[] {
  const folder = "/usr/lib/jvm";
  try {
    return readdirSync(folder).map((name) => join(folder, name));
  } catch {
    return []; // other systems keep them elsewhere
  }
}
