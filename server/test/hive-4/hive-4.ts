import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { SparkHome } from "../../src/engines/spark-home/spark-home.ts";
import { listeningSockets } from "../support/listening-sockets.ts";
import { ivyJars, type JarSet } from "../support/ivy-jars.ts";

const version = "4.0.1";
/** 164 jars, 112 MB. */
const jars: JarSet = {
  name: `hive-metastore-${version}`,
  dependencies: [
    { organisation: "org.apache.hive", module: "hive-standalone-metastore-server", version },
    { organisation: "org.apache.hadoop", module: "hadoop-common", version: "3.3.6" },
    { organisation: "org.apache.hadoop", module: "hadoop-hdfs-client", version: "3.3.6", isAlone: true },
    { organisation: "org.apache.hadoop", module: "hadoop-hdfs", version: "3.3.6", isAlone: true },
    { organisation: "org.apache.logging.log4j", module: "log4j-api", version: "2.18.0" },
  ],
  // A version that was never released, and a second binding of the same logger.
  without: [
    "org.apache.hadoop hadoop-client-api",
    "org.apache.hadoop hadoop-client-runtime",
    "org.slf4j slf4j-reload4j",
    "org.apache.logging.log4j log4j-1.2-api",
  ],
  hash: "498e43d21a3ce83a03b72e26d90f5fd0343d697eea024def748fdc39b65e5568",
};

/** A released metastore of Hive 4, with an in-memory database, on loopback. */
export interface Hive4 {
  /** For the account's `metastore_uri`. */
  readonly uri: string;
  stop(): Promise<void>;
}

const START_MS = 120_000;

export async function startHive4(home: SparkHome, cacheDir: string): Promise<Hive4> {
  const classPath = join(await ivyJars(home, cacheDir, jars), "*");
  const folder = mkdtempSync(join(tmpdir(), "headgate-hive-4-"));
  chmodSync(folder, 0o755);
  mkdirSync(join(folder, "warehouse"));
  const log = openSync(join(folder, "log"), "a");
  const opened = ["java.lang", "java.net", "java.util"].flatMap((name) => [
    "--add-opens",
    `java.base/${name}=ALL-UNNAMED`,
  ]);
  const settings = {
    "metastore.thrift.bind.host": "127.0.0.1",
    "metastore.schema.verification": "false",
    "metastore.warehouse.dir": join(folder, "warehouse"),
    "datanucleus.schema.autoCreateAll": "true",
    "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:hive;create=true",
  };
  const hiveconf = Object.entries(settings).flatMap(([name, value]) => ["--hiveconf", `${name}=${value}`]);
  const words = ["-cp", classPath, "org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", "0", ...hiveconf];
  const child = spawn(home.java.path, ["-Xmx512m", "-XX:+UseSerialGC", ...opened, ...words], {
    cwd: folder,
    env: { PATH: "/usr/bin:/bin", HOME: folder, JAVA_HOME: home.java.home },
    stdio: ["ignore", log, log],
  });
  closeSync(log);
  const gone = once(child, "exit");
  const stop = async (): Promise<void> => {
    child.kill("SIGKILL");
    await gone;
    rmSync(folder, { recursive: true, force: true });
  };
  const until = performance.now() + START_MS;
  for (;;) {
    const [port] = (await listeningSockets(child.pid ?? 0)).ports;
    if (port !== undefined) return { uri: `thrift://127.0.0.1:${port}`, stop };
    if (child.exitCode !== null || performance.now() > until) {
      const said = readFileSync(join(folder, "log"), "utf8").slice(-4000);
      await stop();
      throw new Error(`Hive did not become ready:\n${said}`);
    }
    await delay(100);
  }
}
