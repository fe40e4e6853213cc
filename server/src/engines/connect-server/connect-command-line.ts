import { pathToFileURL } from "node:url";
import type { Contribution } from "../spark-home/contribution.ts";
import type { SparkHome } from "../spark-home/spark-home.ts";
import { driverMainClass } from "../spark-submit/driver-command-line.ts";
import { executorJars, runsHere } from "../spark-submit/executor-jars.ts";
import { javaOptionsOf } from "../spark-submit/java-options.ts";
import { parseMemoryMiB } from "../spark-submit/memory-size.ts";
import { renderProperties } from "../spark-submit/properties-file.ts";
import { POOLS_PROPERTY, renderPools } from "./fair-pools.ts";

/** Spark's own default for `spark.driver.memory`. */
const DEFAULT_HEAP_MIB = 1024;
/** Statements outlive their reader: we may be away for a restart, or for as long as it takes to repair something. */
const DETACHED = "24h";

export interface ConnectPlace {
  /** Where `files` will be, readable for the server alone. */
  readonly input: string;
  /** Its current folder, for scratch files too. */
  readonly work: string;
}

export interface ConnectCommandLine {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** By name, for `input`; secrets stand in them. */
  readonly files: Readonly<Record<string, string>>;
}

/** In the server's own folder: a socket that leads to the server and that no other account can reach. */
export const SOCKET_NAME = "connect.socket";

/** A file in the server's own folder, which exists while a statement runs. */
export const busyFile = (work: string): string => `${work}/busy`;

export function heapMiB({ properties }: Contribution): number {
  const memory = properties["spark.driver.memory"];
  return memory === undefined ? DEFAULT_HEAP_MIB : parseMemoryMiB(memory, "spark.driver.memory");
}

/** The line that starts a Spark Connect server on loopback, on a port of its own choice. Pure. */
export function connectCommandLine(
  home: SparkHome,
  contribution: Contribution,
  token: string,
  { input, work }: ConnectPlace,
): ConnectCommandLine {
  const { properties, classPath, env } = contribution;
  const javaOptions = javaOptionsOf(properties, "spark_config");
  const extraClassPath = [
    ...classPath,
    ...(properties["spark.driver.extraClassPath"]?.split(":").filter(Boolean) ?? []),
  ];
  const pools = properties[POOLS_PROPERTY];
  const poolsFile = `${input}/pools.xml`;
  return {
    argv: [
      home.java.path,
      `@${home.javaArguments}`,
      `-Xmx${heapMiB(contribution)}m`,
      "-XX:+UseSerialGC",
      // Spark keeps a folder there that belongs to whoever made it first.
      `-Djava.io.tmpdir=${work}`,
      `-Duser.home=${work}`,
      // One that has lost a thread this way answers no more, and holds its commands for ever.
      "-XX:+ExitOnOutOfMemoryError",
      `-Dlog4j2.configurationFile=${pathToFileURL(`${input}/log4j2.properties`).href}`,
      ...classData(home, extraClassPath),
      ...javaOptions,
      driverMainClass,
      "--properties-file",
      `${input}/spark.properties`,
      "--class",
      "org.apache.spark.sql.connect.service.SparkConnectServer",
      "spark-internal",
    ],
    env: {
      PATH: "/usr/bin:/bin",
      HOME: work,
      LANG: "C.UTF-8",
      SPARK_HOME: home.folder,
      SPARK_LOCAL_IP: "127.0.0.1",
      SPARK_SCALA_VERSION: "2.13",
      JAVA_HOME: home.java.home,
      ...(home.python === undefined ? {} : { PYSPARK_PYTHON: home.python.path }),
      ...env,
      // Not a setting: those go to executors.
      SPARK_CONNECT_AUTHENTICATE_TOKEN: token,
    },
    files: {
      "spark.properties": renderProperties({
        ...serverDefaults(work),
        ...(runsHere(properties) ? {} : sharedCluster),
        ...properties,
        ...executorJars(properties, home.ownJars),
        ...serverRules(work),
        ...(pools === undefined ? {} : { "spark.scheduler.allocation.file": pathToFileURL(poolsFile).href }),
      }),
      "log4j2.properties": logging,
      ...(pools === undefined ? {} : { "pools.xml": renderPools(pools) }),
    },
  };
}

/** What contributions may say otherwise. */
function serverDefaults(work: string): Record<string, string> {
  return {
    "spark.master": "local[*]",
    "spark.local.dir": work,
    "spark.scheduler.mode": "FAIR",
    // Protected from users; an engine elsewhere needs others.
    "spark.authenticate": "true",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
  };
}

/**
 * A server stays when its queries are over, its executors do not: the cluster is for others, too. Those that hold a
 * part of a result stay until it is read.
 */
const sharedCluster: Readonly<Record<string, string>> = {
  "spark.dynamicAllocation.enabled": "true",
  "spark.dynamicAllocation.executorIdleTimeout": "60s",
  // Of queries that are over; else they would stay until the driver happens to collect its garbage.
  "spark.dynamicAllocation.shuffleTracking.timeout": "60s",
};

/** What nobody may say otherwise: the port answers to the token alone, and nothing else listens. */
function serverRules(work: string): Record<string, string> {
  return {
    "spark.app.name": "headgate-sql",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    // Ours: the scheduler's pool of a statement comes by a header.
    "spark.connect.grpc.interceptor.classes": "headgate.connect.PoolInterceptor",
    // Read by `jvm/driver`.
    "spark.headgate.busyFile": busyFile(work),
    "spark.headgate.socket": SOCKET_NAME,
    "spark.connect.extensions.command.classes": "org.apache.spark.sql.connect.headgate.StoredResults",
    "spark.connect.execute.manager.detachedTimeout": DETACHED,
    "spark.connect.execute.reattachable.enabled": "true",
    // What was sent and may have to be sent again: more than the spool leaves unsynced.
    "spark.connect.execute.reattachable.observerRetryBufferSize": "64m",
    // A batch is held as a whole where it is kept and where it is rendered.
    "spark.connect.grpc.arrow.maxBatchSize": "4m",
    "spark.connect.session.manager.defaultSessionTimeout": DETACHED,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
  };
}

/** An archive fits only a class path that begins as its own did. */
function classData({ archive, classPath }: SparkHome, extra: readonly string[]): string[] {
  const behind = extra.length === 0 ? [] : ["-cp", [...classPath, ...extra].join(":")];
  const shared = archive === undefined ? [] : [`-XX:SharedArchiveFile=${archive}`, "-Xshare:auto", "-Xlog:cds=off"];
  return [...behind, ...shared];
}

/** Spark says dozens of lines for each statement. The line with the port is the one we wait for. */
const logging = `
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{yyyy-MM-dd HH:mm:ss} %p %c{1}: %m%n%ex
logger.connect.name = org.apache.spark.sql.connect.service.SparkConnectServer
logger.connect.level = info
`;

/** Undefined: not up yet. */
export function readPort(log: string): number | undefined {
  const [, port] = /Spark Connect server started at: \S*:(\d+)/.exec(log) ?? [];
  return port === undefined ? undefined : Number(port);
}
