import { join } from "node:path";
import type { SparkHome } from "../spark-home/spark-home.ts";
import { renderProperties } from "../spark-submit/properties-file.ts";

/** What the process is told; where it answers is its own choice. */
export interface MetastoreSettings {
  readonly database: {
    readonly jdbcUrl: string;
    readonly user: string;
    readonly password: string;
    /** Certificates to trust, as PEM; the URL names their file. */
    readonly authority?: string | undefined;
  };
  /** A URI: below it are the folders of databases and tables that name none of their own. */
  readonly warehouse: string;
  /** Who shows it is served. */
  readonly secret: string;
  /** Taken when it is free, else any; 0: any. */
  readonly port: number;
  /** As Spark is given them; those of Hadoop, by which it reaches the warehouse, count. May hold secrets. */
  readonly properties: Readonly<Record<string, string>>;
  /** Jars behind Spark's own, for the same purpose. */
  readonly classPath: readonly string[];
}

export interface MetastorePlace {
  readonly work: string;
  /** Who it is, for Hadoop. */
  readonly userName: string;
  /** Where `files` will be, readable for the process alone. */
  readonly input: string;
}

export interface MetastoreCommandLine {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly files: Readonly<Record<string, string>>;
}

const heapMiB = 512;
/** What a node's budget is charged with: 230 MiB are used after thousands of partitions, the rest is room. */
export const metastoreMemoryMiB = 448;

const databaseWaitSeconds = 60;
const propertiesName = "metastore.properties";
export const authorityName = "authority.pem";

/** Inside of the process's own folder, written by it. */
export const reportFile = (work: string): string => join(work, "report");
export const logFile = (work: string): string => join(work, "metastore.log");

/** A small heap, little compiled: it is idle most of its life, and there is one for each account. Pure. */
export function metastoreCommandLine(
  home: Pick<SparkHome, "java" | "javaArguments" | "classPath" | "archive">,
  settings: MetastoreSettings,
  place: MetastorePlace,
): MetastoreCommandLine {
  const { work, input } = place;
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
      [propertiesName]: renderProperties({ ...hadoopProperties(settings), ...ownProperties(settings, place) }),
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
  { database, warehouse, secret, port }: MetastoreSettings,
  { work, userName }: MetastorePlace,
): Record<string, string> {
  return {
    "headgate.user": userName,
    "headgate.secret": secret,
    "headgate.port": String(port),
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
    // To open the store: our own handler knows how long to wait for the database.
    "hive.hmshandler.retry.attempts": "1",
    // Everything is read within its transaction: to load it once more for afterwards took a quarter of adding partitions.
    "javax.jdo.option.DetachAllOnCommit": "false",
    // Nothing is made and let go in one transaction, and no two objects point at each other: Hive needs neither search.
    "datanucleus.persistenceByReachabilityAtCommit": "false",
    "datanucleus.manageRelationships": "false",
    // The tables are all there before anybody is served; this lets them be made.
    "datanucleus.schema.autoCreateAll": "true",
    "datanucleus.rdbms.initializeColumnInfo": "NONE",
    // The pool that is among Spark's jars. One that is idle holds no connection, so that many accounts fit a server.
    "datanucleus.connectionPoolingType": "DBCP",
    "datanucleus.connectionPool.maxActive": "8",
    "datanucleus.connectionPool.maxIdle": "8",
    "datanucleus.connectionPool.minIdle": "0",
    // At each it looks at a quarter of them.
    "datanucleus.connectionPool.timeBetweenEvictionRunsMillis": "7500",
    "datanucleus.connectionPool.minEvictableIdleTimeMillis": "30000",
    // Asked before each use: one that has died with PostgreSQL is replaced, and fails nobody's call.
    "datanucleus.connectionPool.testSQL": "select 1",
    "datanucleus.rdbms.datastoreAdapterClassName": "headgate.metastore.PostgresAdapter",
  };
}
