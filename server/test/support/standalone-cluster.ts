import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, globSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { listProcessLinks } from "../../src/lib/process-table.ts";
import type { SparkHome } from "../../src/engines/spark-home/spark-home.ts";

/** A real master of Spark's own cluster manager and one worker, on loopback, with files of their own. */
export interface StandaloneCluster {
  readonly masterUrl: string;
  masterLog(): string;
  /** Of all that there ever were. */
  executorLogs(): string;
  /** Pids of the JVMs that work for somebody. */
  executors(): Promise<number[]>;
  stop(): Promise<void>;
}

const START_MS = 120_000;

export async function startStandaloneCluster(home: SparkHome): Promise<StandaloneCluster> {
  const folder = mkdtempSync(join(tmpdir(), "headgate-standalone-"));
  const children: ChildProcess[] = [];
  const file = (name: string): string => join(folder, name);
  const start = (name: string, words: readonly string[]): ChildProcess => {
    const log = openSync(file(name), "a");
    const args = [`@${home.javaArguments}`, "-Xmx512m", "-Dspark.master.rest.enabled=false", ...words];
    const child = spawn(home.java.path, args, {
      cwd: folder,
      env: environment(home, folder),
      stdio: ["ignore", log, log],
    });
    closeSync(log);
    children.push(child);
    return child;
  };
  const stop = async (): Promise<void> => {
    for (const child of children.toReversed()) {
      const gone = child.exitCode === null && child.signalCode === null ? once(child, "exit") : undefined;
      child.kill("SIGTERM");
      await gone;
    }
    rmSync(folder, { recursive: true, force: true });
  };
  const deploy = "org.apache.spark.deploy";
  const here = ["--host", "127.0.0.1", "--webui-port", "0"];
  try {
    const master = start("master.log", [`${deploy}.master.Master`, "--port", "0", ...here]);
    const masterUrl = await findInLog(master, file("master.log"), /Starting Spark master at (spark:\S+)/);
    const room = ["--cores", "2", "--memory", "2g", "--work-dir", file("work")];
    const worker = start("worker.log", [`${deploy}.worker.Worker`, ...here, ...room, masterUrl]);
    await findInLog(worker, file("worker.log"), /(Successfully registered) with master/);
    const executors = async (): Promise<number[]> => {
      const all = await listProcessLinks();
      return all.filter(({ parentPid, name }) => parentPid === worker.pid && name === "java").map(({ pid }) => pid);
    };
    const executorLogs = (): string =>
      globSync(join(file("work"), "*", "*", "stderr"))
        .map((path) => readFileSync(path, "utf8"))
        .join("");
    return { masterUrl, masterLog: () => readFileSync(file("master.log"), "utf8"), executorLogs, executors, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function environment(home: SparkHome, folder: string): Record<string, string> {
  return {
    PATH: "/usr/bin:/bin",
    HOME: folder,
    SPARK_HOME: home.folder,
    SPARK_LOCAL_IP: "127.0.0.1",
    SPARK_SCALA_VERSION: "2.13",
    JAVA_HOME: home.java.home,
  };
}

async function findInLog(child: ChildProcess, path: string, pattern: RegExp): Promise<string> {
  const until = performance.now() + START_MS;
  while (performance.now() < until && child.exitCode === null) {
    const [, found] = pattern.exec(readFileSync(path, "utf8")) ?? [];
    if (found !== undefined) return found;
    await delay(50);
  }
  throw new Error(`${path} does not say ${pattern.source}:\n${readFileSync(path, "utf8")}`);
}
