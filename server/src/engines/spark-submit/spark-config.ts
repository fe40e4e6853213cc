/**
 * The stored configuration of a cluster or an app, which applies to many runs. It may not set what the server sets for
 * every command, nor what the cluster, the catalog or the account decides.
 */
import { invalid } from "../../lib/fault.ts";
import { isProtected, reasonIn } from "./setting-rules.ts";
import { checkProperties } from "./submit-rules.ts";

export type SparkConfig = Readonly<Record<string, string>>;

const SPARK_CONFIG_KEYS = 200;
export const SPARK_CONFIG_VALUE_LENGTH = 8192;
const KEY_LENGTH = 255;
const TOTAL_BYTES = 64 * 1024;

/** Spark ignores keys with another prefix, and `=` would end a key on a command line. */
const KEY = /^spark\.[!-<>-~]+$/;
/** Similar to Spark's own rule for redacted keys. */
const SECRET = /secret|passw(or)?d|token|access[._-]?key/i;

const engine = "the engine of the cluster decides it";
const server = "the server sets it";
const pools = "use the pools of the cluster";

/** A name that ends with a dot stands for every key with that prefix. */
const decidedElsewhere: Readonly<Record<string, string>> = {
  "spark.connect.": server,
  "spark.hadoop.hadoop.user.group.static.mapping.overrides": server,
  "spark.hadoop.hive.metastore.uris": server,
  "spark.hadoop.javax.jdo.": server,
  "spark.hive.javax.jdo.": server,
  "spark.hive.metastore.uris": server,
  "spark.kubernetes.container.image": engine,
  "spark.kubernetes.driver.container.image": engine,
  "spark.kubernetes.executor.container.image": engine,
  "spark.kubernetes.namespace": engine,
  "spark.local.dir": server,
  "spark.master": engine,
  "spark.remote": engine,
  "spark.scheduler.allocation.file": pools,
  "spark.scheduler.mode": pools,
  "spark.sql.catalogImplementation": server,
  "spark.sql.warehouse.dir": server,
  "spark.submit.deployMode": engine,
};

/** Operators may set these, because they decide how the machines of a cluster connect to this one. */
const operatorsNetwork =
  /^spark\.(blockManager\.port|driver\.(bindAddress|blockManager\.port|host|port)|io\.encryption\..*|network\.crypto\..*)$/;
/** Programs use the account's catalog, never that of the cluster. */
const catalogs = /^spark\.(hadoop\.hive|hive|sql\.hive)\.metastore\./;

/**
 * Filters an operator's settings for all users of a cluster, often a copy of its configuration file. Settings that the
 * server or the account decides are dropped, not refused.
 */
export function allowedOperatorSettings(settings: SparkConfig): SparkConfig {
  const isAllowed = (key: string): boolean =>
    KEY.test(key) &&
    reasonIn(decidedElsewhere, key) === undefined &&
    !catalogs.test(key) &&
    (operatorsNetwork.test(key) || !isProtected(key));
  return Object.fromEntries(Object.entries(settings).filter(([key]) => isAllowed(key)));
}

export function checkSparkConfig(config: SparkConfig, field: string): SparkConfig {
  const entries = Object.entries(config);
  if (entries.length > SPARK_CONFIG_KEYS) throw invalid(field, `must have at most ${SPARK_CONFIG_KEYS} keys`);
  for (const [key] of entries) checkKey(key, field);
  const bytes = entries.reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0);
  if (bytes > TOTAL_BYTES) throw invalid(field, `must have at most ${TOTAL_BYTES} bytes`);
  checkProperties(new Map(entries), field);
  return config;
}

function checkKey(key: string, field: string): void {
  if (key.length > KEY_LENGTH || !KEY.test(key)) {
    const shown = JSON.stringify(key.slice(0, KEY_LENGTH));
    throw invalid(field, `has the key ${shown}, which is not a name such as spark.sql.shuffle.partitions`);
  }
  const reason = reasonIn(decidedElsewhere, key);
  if (reason !== undefined) throw invalid(field, `may not set ${key}: ${reason}`);
  if (SECRET.test(key)) throw invalid(field, `may not set ${key}: a configuration is visible and not encrypted`);
}
