import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync, closeSync, openSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { setTimeout as delay } from "node:timers/promises";
import { fetchPythonPackages } from "../../src/engines/spark-home/python-packages.ts";
import { ensureSparkHome, type SparkHome } from "../../src/engines/spark-home/spark-home.ts";
import { renderProperties } from "../../src/engines/spark-submit/properties-file.ts";

/** The first run on a machine fetches Spark. */
export const SET_UP_MS = 900_000;

/** A real Spark Connect server on loopback, for one test file, with its own files. */
export interface TestConnectServer {
  readonly host: string;
  readonly port: number;
  readonly token: string;
  readonly pid: number;
  readonly folder: string;
  log(): string;
  /** Simulates a crash. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export async function findSparkHome(
  cacheDir: string,
  signal: AbortSignal = new AbortController().signal,
): Promise<SparkHome> {
  return ensureSparkHome({ cacheDir, signal, progress: () => undefined, warn: () => undefined });
}

/** Also installs what the set-up brings later. */
export async function findSparkHomeWithPackages(
  cacheDir: string,
  signal: AbortSignal = new AbortController().signal,
): Promise<SparkHome> {
  const home = await findSparkHome(cacheDir, signal);
  if (home.python !== undefined) await fetchPythonPackages(home.python, { signal, progress: () => undefined });
  return home;
}

const START_MS = 120_000;

export async function startConnectServer(
  home: SparkHome,
  options: { properties?: Readonly<Record<string, string>>; memoryMiB?: number; jars?: readonly string[] } = {},
): Promise<TestConnectServer> {
  const folder = mkdtempSync(join(tmpdir(), "headgate-connect-"));
  const token = randomBytes(16).toString("hex");
  const file = (name: string): string => join(folder, name);
  writeFileSync(file("log4j2.properties"), logging);
  const properties = { ...defaults(folder, token), ...options.properties };
  writeFileSync(file("spark.conf"), renderProperties(properties), { mode: 0o600 });
  const archive =
    home.archive === undefined ? [] : [`-XX:SharedArchiveFile=${home.archive}`, "-Xshare:auto", "-Xlog:cds=off"];
  const words = [
    `@${home.javaArguments}`,
    `-Xmx${options.memoryMiB ?? 1024}m`,
    `-Djava.io.tmpdir=${folder}`,
    ...archive,
    ...(options.jars === undefined ? [] : ["-cp", [...home.classPath, ...options.jars].join(":")]),
    `-Dlog4j2.configurationFile=${pathToFileURL(file("log4j2.properties")).href}`,
    "org.apache.spark.deploy.SparkSubmit",
    "--properties-file",
    file("spark.conf"),
    "--class",
    "org.apache.spark.sql.connect.service.SparkConnectServer",
    "spark-internal",
  ];
  const env = {
    PATH: "/usr/bin:/bin",
    HOME: folder,
    SPARK_HOME: home.folder,
    SPARK_LOCAL_IP: "127.0.0.1",
    SPARK_SCALA_VERSION: "2.13",
    JAVA_HOME: home.java.home,
    ...(home.python === undefined ? {} : { PYSPARK_PYTHON: home.python.path }),
  };
  const log = openSync(file("log"), "a");
  const child = spawn(home.java.path, words, { cwd: folder, env, stdio: ["ignore", log, log] });
  closeSync(log);
  const ended = once(child, "exit");
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  const readLog = (): string => readFileSync(file("log"), "utf8");
  try {
    const port = await waitForPort(child, readLog);
    return {
      host: "127.0.0.1",
      port,
      token,
      pid: child.pid ?? 0,
      folder,
      log: readLog,
      kill: () => end("SIGKILL"),
      stop: () => end("SIGTERM"),
    };
  } catch (error) {
    await end("SIGKILL");
    throw error;
  }
}

async function waitForPort(child: ChildProcess, readLog: () => string): Promise<number> {
  const until = Date.now() + START_MS;
  while (Date.now() < until && child.exitCode === null) {
    const [, port] = /Spark Connect server started at: \S*:(\d+)/.exec(readLog()) ?? [];
    if (port !== undefined) return Number(port);
    await delay(50);
  }
  throw new Error(`the Spark Connect server did not become ready:\n${readLog()}`);
}

function defaults(folder: string, token: string): Record<string, string> {
  return {
    "spark.master": "local[2]",
    "spark.local.dir": folder,
    "spark.sql.warehouse.dir": join(folder, "warehouse"),
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    "spark.connect.authenticate.token": token,
    "spark.authenticate": "true",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
  };
}

const logging = `
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss.SSS} %p %c{1}: %m%n%ex
logger.connect.name = org.apache.spark.sql.connect.service.SparkConnectServer
logger.connect.level = info
`;
