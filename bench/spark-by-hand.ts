import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { readConfig } from "../server/src/config.ts";
import { ensureSparkHome, type SparkHome } from "../server/src/engines/spark-home/spark-home.ts";
import { repositoryDir } from "../server/test/support/repository-dir.ts";

/** The Spark that the server uses. */
export function sparkHome(): Promise<SparkHome> {
  const isRoot = process.getuid?.() === 0;
  const { cacheDir, sparkHome, javaHome } = readConfig(process.env, { repositoryDir, isRoot, readFile: readText });
  return ensureSparkHome({
    cacheDir,
    sparkHome: sparkHome ?? undefined,
    javaHome: javaHome ?? undefined,
    signal: new AbortController().signal,
    progress: () => undefined,
    warn: (message) => console.warn(message),
  });
}

/** Runs a program of Spark's own `bin` folder, as a user would, and returns its output. */
export async function byHand(
  home: SparkHome,
  folder: string,
  program: "spark-submit" | "spark-sql",
  args: readonly string[],
): Promise<string> {
  const { stdout } = await promisify(execFile)(join(home.folder, "bin", program), ["--master", "local[*]", ...args], {
    cwd: folder,
    env: {
      PATH: "/usr/bin:/bin",
      HOME: folder,
      SPARK_HOME: home.folder,
      JAVA_HOME: home.java.home,
      SPARK_LOCAL_IP: "127.0.0.1",
      ...(home.python === undefined ? {} : { PYSPARK_PYTHON: home.python.path }),
    },
  });
  return stdout;
}

function readText(path: string): string {
  return readFileSync(path, "utf8");
}
