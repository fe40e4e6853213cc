import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { SparkHome } from "../../src/engines/spark-home/spark-home.ts";
import { miniHadoopClassPath } from "./mini-hadoop-jars.ts";

/** A real HDFS with one DataNode, on loopback, in a separate process. */
export interface MiniHdfs {
  /** Its configuration, as an operator would have it. */
  readonly confFolder: string;
  /** Such as hdfs://127.0.0.1:4711. */
  readonly uri: string;
  /** Such as http://127.0.0.1:4712/webhdfs/v1. */
  readonly webHdfs: string;
  log(): string;
  stop(): Promise<void>;
}

/** The same with YARN and one NodeManager. */
export interface MiniYarn extends MiniHdfs {
  applications(): Promise<YarnApplication[]>;
}

export interface YarnApplication {
  readonly id: string;
  readonly name: string;
  readonly user: string;
  readonly state: string;
  readonly applicationTags: string;
}

const START_MS = 240_000;
const STOP_MS = 30_000;

export async function startMiniHdfs(home: SparkHome, cacheDir: string): Promise<MiniHdfs> {
  return start(home, cacheDir, []);
}

export async function startMiniYarn(home: SparkHome, cacheDir: string): Promise<MiniYarn> {
  const hdfs = await start(home, cacheDir, ["yarn"]);
  const address = setting(hdfs.confFolder, "yarn-site.xml", "yarn.resourcemanager.webapp.address");
  return {
    ...hdfs,
    async applications() {
      const answer = await fetch(`http://${address}/ws/v1/cluster/apps`, { headers: { accept: "application/json" } });
      if (!answer.ok) throw new Error(await answer.text());
      const { apps } = (await answer.json()) as { apps: { app: YarnApplication[] } | null }; // as Hadoop documents it
      return apps?.app ?? [];
    },
  };
}

async function start(home: SparkHome, cacheDir: string, services: readonly string[]): Promise<MiniHdfs> {
  const classPath = await miniHadoopClassPath(home, cacheDir);
  const folder = mkdtempSync(join(tmpdir(), "headgate-hadoop-"));
  chmodSync(folder, 0o755); // programs of accounts read the configuration
  const file = (name: string): string => join(folder, name);
  const log = openSync(file("log"), "a");
  const options = ["-Xmx512m", "-XX:+UseSerialGC", "--add-opens", "java.base/java.lang=ALL-UNNAMED"];
  const child = spawn(home.java.path, [...options, "-cp", classPath, "MiniHadoop", folder, ...services], {
    cwd: folder,
    env: { PATH: "/usr/bin:/bin", HOME: folder, JAVA_HOME: home.java.home },
    stdio: ["pipe", log, log],
  });
  closeSync(log);
  const readLog = (): string => readFileSync(file("log"), "utf8");
  const gone = once(child, "exit");
  const stop = async (): Promise<void> => {
    child.stdin?.end();
    const limit = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    await gone;
    clearTimeout(limit);
    rmSync(folder, { recursive: true, force: true });
  };
  const until = performance.now() + START_MS;
  while (!existsSync(file("conf"))) {
    if (child.exitCode !== null || performance.now() > until) {
      const said = readLog().slice(-4000);
      child.kill("SIGKILL");
      await stop();
      throw new Error(`Hadoop did not become ready:\n${said}`);
    }
    await delay(100);
  }
  const confFolder = file("conf");
  const http = setting(confFolder, "hdfs-site.xml", "dfs.namenode.http-address");
  const uri = setting(confFolder, "core-site.xml", "fs.defaultFS");
  return { confFolder, uri, webHdfs: `http://${http}/webhdfs/v1`, log: readLog, stop };
}

function setting(folder: string, file: string, name: string): string {
  const text = readFileSync(join(folder, file), "utf8");
  const [, value] = new RegExp(`<name>${RegExp.escape(name)}</name>\\s*<value>([^<]*)</value>`).exec(text) ?? [];
  if (value === undefined) throw new Error(`${file} does not set ${name}`);
  return value;
}
