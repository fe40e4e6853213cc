import { pathToFileURL } from "node:url";
import type { Contribution } from "../spark-home/contribution.ts";
import { JAVA_NETWORKING } from "../spark-home/java-networking.ts";
import type { SparkHome } from "../spark-home/spark-home.ts";
import { driverMainClass } from "../spark-submit/driver-command-line.ts";
import { DELAYED_COMPILATION, sparkEnvironment } from "../spark-submit/driver-jvm.ts";
import { executorJars, runsHere } from "../spark-submit/executor-jars.ts";
import { javaOptionsOf } from "../spark-submit/java-options.ts";
import { parseMemoryMiB } from "../spark-submit/setting-values.ts";
import { renderProperties } from "../spark-submit/properties-file.ts";
import { POOLS_PROPERTY, renderPools } from "./fair-pools.ts";

/** Spark's own default for `spark.driver.memory`. */
const DEFAULT_HEAP_MIB = 1024;
/** Statements outlive our server, which may be down for a restart or for a longer repair. */
const DETACHED = "24h";

export interface ConnectFolders {
  /** Folder of `files`, readable only by the Spark server. */
  readonly input: string;
  /** Working directory and scratch space. */
  readonly work: string;
}

export interface ConnectCommandLine {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Contents of the files in `input`, by name. They contain secrets. */
  readonly files: Readonly<Record<string, string>>;
  /** Contents of files in `work`, by name, which the server removes when it has read them. */
  readonly startFiles: Readonly<Record<string, string>>;
}

/** A Unix socket in the server's work folder, which no other account can reach. */
export const SOCKET_NAME = "connect.socket";

/** A file in the server's work folder, which no statement sees. */
const TOKEN_NAME = "connect.token";

/** A file in the server's work folder that exists while a statement runs. */
export const busyFile = (work: string): string => `${work}/busy`;

export function heapMiB({ properties }: Contribution): number {
  const memory = properties["spark.driver.memory"];
  return memory === undefined ? DEFAULT_HEAP_MIB : parseMemoryMiB(memory, "spark.driver.memory");
}

/** The command line of a Spark Connect server on loopback, on a port that it chooses. Pure. */
export function connectCommandLine(
  home: SparkHome,
  contribution: Contribution,
  token: string,
  { input, work }: ConnectFolders,
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
      ...DELAYED_COMPILATION,
      // Spark creates a folder with a fixed name there, which only one user could own in /tmp.
      `-Djava.io.tmpdir=${work}`,
      `-Duser.home=${work}`,
      // A server that lost a thread by OutOfMemoryError would hang with its commands forever.
      "-XX:+ExitOnOutOfMemoryError",
      `-Dlog4j2.configurationFile=${pathToFileURL(`${input}/log4j2.properties`).href}`,
      ...classData(home, extraClassPath),
      ...javaOptions,
      driverMainClass,
      "--properties-file",
      `${input}/spark.properties`,
      "--class",
      "org.apache.spark.sql.connect.headgate.WarmServer",
      "spark-internal",
    ],
    env: {
      PATH: "/usr/bin:/bin",
      HOME: work,
      LANG: "C.UTF-8",
      ...sparkEnvironment(home, properties),
      ...env,
    },
    files: {
      "spark.properties": renderProperties({
        ...serverDefaults(work),
        ...(runsHere(properties) ? {} : sharedCluster),
        ...properties,
        ...executorJars(properties, { own: home.ownJars, classPath }),
        ...serverRules(work),
        ...(pools === undefined ? {} : { "spark.scheduler.allocation.file": pathToFileURL(poolsFile).href }),
      }),
      "log4j2.properties": logging,
      ...(pools === undefined ? {} : { "pools.xml": renderPools(pools) }),
    },
    // SQL of users can read the environment and all properties, which executors receive too.
    startFiles: { [TOKEN_NAME]: token },
  };
}

/** Properties that contributions may override. */
function serverDefaults(work: string): Record<string, string> {
  return {
    "spark.master": "local[*]",
    "spark.local.dir": work,
    "spark.scheduler.mode": "FAIR",
    ...JAVA_NETWORKING,
    // Users cannot change these three, but a cluster needs other values.
    "spark.authenticate": "true",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
  };
}

/**
 * Releases executors when queries have ended, because others use the cluster too. Executors with unread parts of a
 * result stay.
 */
const sharedCluster: Readonly<Record<string, string>> = {
  "spark.dynamicAllocation.enabled": "true",
  "spark.dynamicAllocation.executorIdleTimeout": "60s",
  // Otherwise executors with shuffle files of finished queries would stay until the driver's garbage collection.
  "spark.dynamicAllocation.shuffleTracking.timeout": "60s",
};

/** Properties that contributions cannot override: the port requires the token, and nothing else listens. */
function serverRules(work: string): Record<string, string> {
  return {
    "spark.app.name": "headgate-sql",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    // Our interceptors check the token and set the scheduler pool of a statement, both from request headers.
    "spark.connect.grpc.interceptor.classes": "headgate.connect.PoolInterceptor,headgate.connect.TokenInterceptor",
    // Read by `jvm/driver`.
    "spark.headgate.tokenFile": TOKEN_NAME,
    "spark.headgate.busyFile": busyFile(work),
    "spark.headgate.socket": SOCKET_NAME,
    "spark.connect.extensions.command.classes": "org.apache.spark.sql.connect.headgate.StoredResults",
    "spark.connect.execute.manager.detachedTimeout": DETACHED,
    "spark.connect.execute.reattachable.enabled": "true",
    // Sent data that can be requested again. Must be larger than what the spool leaves unsynced.
    "spark.connect.execute.reattachable.observerRetryBufferSize": "64m",
    // The spool and the renderer hold whole batches in memory.
    "spark.connect.grpc.arrow.maxBatchSize": "4m",
    "spark.connect.session.manager.defaultSessionTimeout": DETACHED,
    // Sessions share a folder for the files and jars that they add. Two of one name would fail all later queries.
    "spark.files.overwrite": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
  };
}

/** A CDS archive is usable only if the class path starts with the archive's class path. */
function classData({ archive, classPath }: SparkHome, extra: readonly string[]): string[] {
  const extended = extra.length === 0 ? [] : ["-cp", [...classPath, ...extra].join(":")];
  const shared = archive === undefined ? [] : [`-XX:SharedArchiveFile=${archive}`, "-Xshare:auto", "-Xlog:cds=off"];
  return [...extended, ...shared];
}

/** Only warnings, because Spark logs dozens of lines per statement, and the line with the port (`readPort`). */
const logging = `
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{yyyy-MM-dd HH:mm:ss} %p %c{1}: %m%n%ex
logger.connect.name = org.apache.spark.sql.connect.headgate.WarmServer
logger.connect.level = info
`;

/** Undefined until the server listens. */
export function readPort(log: string): number | undefined {
  const [, port] = /Spark Connect server started at: \S*:(\d+)/.exec(log) ?? [];
  return port === undefined ? undefined : Number(port);
}
