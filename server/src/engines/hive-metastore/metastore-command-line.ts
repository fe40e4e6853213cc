import { join } from "node:path";
import type { SparkHome } from "../spark-home/spark-home.ts";
import { renderProperties } from "../spark-submit/properties-file.ts";

export interface MetastoreSettings {
  readonly database: {
    readonly jdbcUrl: string;
    readonly user: string;
    readonly password: string;
    /** Trusted certificates as PEM; the URL names their file. */
    readonly authority?: string | undefined;
  };
  /** The URI of the default parent folder of databases and tables. */
  readonly warehouse: string;
  /** Clients must prove that they know it. */
  readonly secret: string;
  /** The preferred port, used if it is free; 0: any. */
  readonly port: number;
  /** How long it waits for its first client before it prepares to serve; 0: not at all. */
  readonly firstClientWaitMs: number;
  /** Spark's properties. Only those of Hadoop, for access to the warehouse, are used. May contain secrets. */
  readonly properties: Readonly<Record<string, string>>;
  /** Jars for access to the warehouse, after Spark's own. */
  readonly classPath: readonly string[];
}

export interface MetastoreSandbox {
  readonly work: string;
  /** The Hadoop user of the process. */
  readonly userName: string;
  /** Folder of `files`, readable only by the process. */
  readonly input: string;
}

export interface MetastoreCommandLine {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly files: Readonly<Record<string, string>>;
}

const heapMiB = 512;
/** Counted against the node's memory. Measured: 230 MiB after thousands of partitions. */
export const metastoreMemoryMiB = 448;

const databaseWaitSeconds = 60;
const propertiesName = "metastore.properties";
export const authorityName = "authority.pem";

/** Written by the process in its work folder. */
export const reportFile = (work: string): string => join(work, "report");
export const logFile = (work: string): string => join(work, "metastore.log");

/** Small heap and little compilation: there is one metastore per account, and it is mostly idle. Pure. */
export function metastoreCommandLine(
  home: Pick<SparkHome, "java" | "javaArguments" | "classPath" | "archive">,
  settings: MetastoreSettings,
  sandbox: MetastoreSandbox,
): MetastoreCommandLine {
  const { work, input } = sandbox;
  const { archive } = home;
  const { authority } = settings.database;
  const extra = settings.classPath;
  return {
    argv: [
      home.java.path,
      `@${home.javaArguments}`,
      `-Xmx${heapMiB}m`,
      "-XX:+UseSerialGC",
      "-XX:TieredStopAtLevel=1",
      "-XX:+ExitOnOutOfMemoryError",
      `-Duser.home=${work}`,
      ...(extra.length === 0 ? [] : ["-cp", [...home.classPath, ...extra].join(":")]),
      ...(archive === undefined ? [] : [`-XX:SharedArchiveFile=${archive}`, "-Xshare:auto", "-Xlog:cds=off"]),
      "headgate.metastore.MetastoreMain",
      join(input, propertiesName),
    ],
    env: { PATH: "/usr/bin:/bin", HOME: work, LANG: "C.UTF-8", JAVA_HOME: home.java.home },
    files: {
      [propertiesName]: renderProperties({ ...hadoopProperties(settings), ...ownProperties(settings, sandbox) }),
      ...(authority === undefined ? {} : { [authorityName]: authority }),
    },
  };
}

const hadoopPrefix = "spark.hadoop.";

function hadoopProperties({ properties }: MetastoreSettings): Record<string, string> {
  const ofHadoop = Object.entries(properties).filter(([key]) => key.startsWith(hadoopPrefix));
  return Object.fromEntries(ofHadoop.map(([key, value]) => [key.slice(hadoopPrefix.length), value]));
}

function ownProperties(
  { database, warehouse, secret, port, firstClientWaitMs }: MetastoreSettings,
  { work, userName }: MetastoreSandbox,
): Record<string, string> {
  return {
    "headgate.user": userName,
    "headgate.secret": secret,
    "headgate.port": String(port),
    "headgate.first-client-wait-ms": String(firstClientWaitMs),
    "headgate.report": reportFile(work),
    "headgate.log": logFile(work),
    "headgate.database-wait-seconds": String(databaseWaitSeconds),
    "javax.jdo.option.ConnectionURL": database.jdbcUrl,
    "javax.jdo.option.ConnectionDriverName": "org.postgresql.Driver",
    "javax.jdo.option.ConnectionUserName": database.user,
    "javax.jdo.option.ConnectionPassword": database.password,
    "hive.metastore.warehouse.dir": warehouse,
    "hive.metastore.schema.verification": "false",
    "hive.stats.autogather": "false",
    "hive.metastore.rawstore.impl": "headgate.metastore.BatchingStore",
    // Hive's retries are off, because our own handler waits for the database.
    "hive.hmshandler.retry.attempts": "1",
    // Objects are used only within their transaction. Detaching took a quarter of the time to add partitions.
    "javax.jdo.option.DetachAllOnCommit": "false",
    // Hive has no bidirectional relations and never creates and drops an object in one transaction.
    "datanucleus.persistenceByReachabilityAtCommit": "false",
    "datanucleus.manageRelationships": "false",
    // Needed to create the tables, which happens before the first request is served.
    "datanucleus.schema.autoCreateAll": "true",
    "datanucleus.rdbms.initializeColumnInfo": "NONE",
    // The pool among Spark's jars. Idle metastores hold no connection, so that one PostgreSQL serves many accounts.
    "datanucleus.connectionPoolingType": "DBCP",
    "datanucleus.connectionPool.maxActive": "8",
    "datanucleus.connectionPool.maxIdle": "8",
    "datanucleus.connectionPool.minIdle": "0",
    // Each run checks a quarter of the connections.
    "datanucleus.connectionPool.timeBetweenEvictionRunsMillis": "7500",
    "datanucleus.connectionPool.minEvictableIdleTimeMillis": "30000",
    // Checked before each use, so that connections lost in a PostgreSQL restart are replaced and no call fails.
    "datanucleus.connectionPool.testSQL": "select 1",
    "datanucleus.rdbms.datastoreAdapterClassName": "headgate.metastore.PostgresAdapter",
  };
}
