/**
 * A real master of Spark's own cluster manager and two workers with one core each and their own files. They have
 * different loopback addresses, so that they count as two machines.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { closeSync, globSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { listProcessLinks } from "../../src/lib/process-table.ts";
import type { SparkHome } from "../../src/engines/spark-home/spark-home.ts";

export interface StandaloneCluster {
  readonly masterUrl: string;
  /** Clients without it are refused. */
  readonly secret: string;
  masterLog(): string;
  /** The logs of all executors so far. */
  executorLogs(): string;
  /** The pids of the executors' JVMs. */
  executors(): Promise<number[]>;
  stop(): Promise<void>;
}

const START_MS = 120_000;

export async function startStandaloneCluster(home: SparkHome): Promise<StandaloneCluster> {
  const secret = randomBytes(16).toString("hex");
  const folder = mkdtempSync(join(tmpdir(), "headgate-standalone-"));
  const children: ChildProcess[] = [];
  const file = (name: string): string => join(folder, name);
  const start = (name: string, main: string, host: string, words: readonly string[]): ChildProcess => {
    const log = openSync(file(`${name}.log`), "a");
    const settings = { "master.rest.enabled": "false", authenticate: "true", "authenticate.secret": secret };
    const given = Object.entries(settings).map(([key, value]) => `-Dspark.${key}=${value}`);
    const args = [`@${home.javaArguments}`, "-Xmx512m", ...given];
    const here = ["--host", host, "--webui-port", "0"];
    const child = spawn(home.java.path, [...args, `org.apache.spark.deploy.${main}`, ...here, ...words], {
      cwd: folder,
      env: environment(home, folder, host),
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
  try {
    const master = start("master", "master.Master", "127.0.0.1", ["--port", "0"]);
    const masterUrl = await findInLog(master, file("master.log"), /Starting Spark master at (spark:\S+)/);
    const room = ["--cores", "1", "--memory", "1g", "--work-dir", file("work")];
    const workers = [1, 2].map((number) =>
      start(`worker-${number}`, "worker.Worker", `127.0.0.${number}`, [...room, masterUrl]),
    );
    for (const [index, worker] of workers.entries()) {
      await findInLog(worker, file(`worker-${index + 1}.log`), /(Successfully registered) with master/);
    }
    const executors = async (): Promise<number[]> => {
      const pids = workers.map(({ pid }) => pid);
      const all = await listProcessLinks();
      return all.filter(({ parentPid, name }) => pids.includes(parentPid) && name === "java").map(({ pid }) => pid);
    };
    const executorLogs = (): string =>
      globSync(join(file("work"), "*", "*", "stderr"))
        .map((path) => readFileSync(path, "utf8"))
        .join("");
    const masterLog = (): string => readFileSync(file("master.log"), "utf8");
    return { masterUrl, secret, masterLog, executorLogs, executors, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function environment(home: SparkHome, folder: string, host: string): Record<string, string> {
  return {
    PATH: "/usr/bin:/bin",
    HOME: folder,
    SPARK_HOME: home.folder,
    SPARK_LOCAL_IP: host,
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
  throw new Error(`${path} does not contain ${pattern.source}:\n${readFileSync(path, "utf8")}`);
}
