import { features, isFeature, type Feature } from "../lib/features.ts";
import { Secret } from "../lib/secret.ts";
import {
  host,
  httpAddress,
  integer,
  listOf,
  matching,
  namedFolder,
  network,
  oneOf,
  path,
  sizeMiB,
} from "./parse-value.ts";
import { derived, fixed, type DerivedSetting, type FixedSetting } from "./setting.ts";

const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

const logFormats = ["auto", "text", "json"] as const;
export type LogFormat = (typeof logFormats)[number];

export const commandTimes = ["iso", "epoch"] as const;
const isolations = ["auto", "bubblewrap", "none"] as const;

const aPath = "a path (a relative one counts from the repository; ~ is not expanded)";
const networks = "a comma list of IP addresses or CIDR blocks without host bits, or none";

/**
 * Every setting of the product as data: the reader, the operator's listing, `headgate.env.example` and the docs are all
 * made from this table. `DATABASE_URL` keeps the name that hosting platforms give it.
 */
export const settings = {
  host: fixed({
    name: "HEADGATE_HOST",
    description: "The address to listen on. Beyond loopback, put a proxy that speaks TLS in front.",
    allowed: "an IP address or a host name",
    parse: host,
    default: "127.0.0.1",
  }),
  port: fixed({
    name: "HEADGATE_PORT",
    description: "The port to listen on. 0 takes a free one, and the ready line names it.",
    allowed: "an integer from 0 to 65535",
    parse: integer(0, 65_535),
    default: "8470",
  }),
  dataDir: derived({
    name: "HEADGATE_DATA_DIR",
    description: "Where the database, the keys and the accounts' files live. Back this up.",
    allowed: aPath,
    parse: path,
    derived: "data in the repository; as root /var/lib/headgate",
  }),
  cacheDir: derived({
    name: "HEADGATE_CACHE_DIR",
    description: "Where what can be fetched or built again is kept.",
    allowed: aPath,
    parse: path,
    derived: "${XDG_CACHE_HOME:-~/.cache}/headgate; as root /var/cache/headgate",
  }),
  sparkHome: derived({
    name: "HEADGATE_SPARK_HOME",
    description: "An own Spark 4 for Scala 2.13 instead of the one that is installed into the cache.",
    allowed: aPath,
    parse: path,
    derived: "the pinned one, fetched by pip",
  }),
  javaHome: derived({
    name: "JAVA_HOME",
    description: "The Java, 17 or newer, that runs Spark.",
    allowed: aPath,
    parse: path,
    derived: "java on the PATH, else the first suitable one in /usr/lib/jvm, else one fetched by pip",
  }),
  adminEmail: fixed({
    name: "HEADGATE_ADMIN_EMAIL",
    description: "The e-mail of the operator whom the first start creates.",
    allowed: "an e-mail address of at most 254 characters",
    parse: matching(/^(?=.{3,254}$)[^\s@,]+@[^\s@,]+$/),
    default: "admin@localhost",
  }),
  databaseUrl: derived({
    name: "DATABASE_URL",
    description: "An own PostgreSQL server instead of the embedded one. Several nodes share one this way.",
    allowed: "a postgres:// or postgresql:// address",
    parse: (text) => (/^postgres(ql)?:\/\/\S+$/.test(text) ? new Secret(text) : undefined),
    secret: true,
    derived: "the embedded server in the data directory",
  }),
  keyFile: derived({
    name: "HEADGATE_KEY_FILE",
    description: "The keys that stored secrets are encrypted with. Without this file they are lost.",
    allowed: aPath,
    parse: path,
    derived: "keys in the data directory",
  }),
  identifierPrefix: fixed({
    name: "HEADGATE_IDENTIFIER_PREFIX",
    description: "The vendor abbreviation in paths, keys and headers of the API (enable_<prefix>_user).",
    allowed: "1 to 16 lower-case letters and digits, a letter first",
    parse: matching(/^[a-z][a-z0-9]{0,15}$/),
    default: "svc",
  }),
  commandTimes: fixed({
    name: "HEADGATE_COMMAND_TIMES",
    description: "How commands show start_time and end_time: as UTC text, or as seconds since 1970.",
    allowed: `one of ${commandTimes.join(", ")}`,
    parse: oneOf(commandTimes),
    default: "iso",
  }),
  trustedProxies: fixed({
    name: "HEADGATE_TRUSTED_PROXIES",
    description: "The proxies whose X-Forwarded-For is believed.",
    allowed: networks,
    parse: listOf(network),
    default: "none",
  }),
  rateLimitPerSecond: fixed({
    name: "HEADGATE_RATE_LIMIT",
    description: "Requests a second for each token, with bursts of five times as many. 0 turns the limit off.",
    allowed: "an integer from 0 to 1000000",
    parse: integer(0, 1_000_000),
    default: "200",
  }),
  badTokenLimitPerMinute: fixed({
    name: "HEADGATE_BAD_TOKEN_LIMIT",
    description: "Requests a minute with an unknown token for each address. 0 turns the limit off.",
    allowed: "an integer from 0 to 1000000",
    parse: integer(0, 1_000_000),
    default: "100",
  }),
  nodeAddress: derived({
    name: "HEADGATE_NODE_ADDRESS",
    description: "Where the other nodes on the same database reach this one, for logs and results that are only here.",
    allowed: "an http:// or https:// address without user, query or fragment",
    parse: httpAddress,
    derived: "the address it listens on; none when that is every address",
  }),
  s3Endpoint: derived({
    name: "HEADGATE_S3_ENDPOINT",
    description: "The S3-compatible store of accounts that name none of their own.",
    allowed: "an http:// or https:// address without user, query or fragment",
    parse: httpAddress,
    derived: "the provider's, by region",
  }),
  retainAuditDays: fixed({
    name: "HEADGATE_RETAIN_AUDIT",
    description: "Days for which audit events are kept.",
    allowed: "an integer from 1 to 36500",
    parse: integer(1, 36_500),
    default: "400",
  }),
  retainIdempotencyHours: fixed({
    name: "HEADGATE_RETAIN_IDEMPOTENCY",
    description: "Hours for which the answer to an Idempotency-Key is kept.",
    allowed: "an integer from 1 to 8760",
    parse: integer(1, 8760),
    default: "24",
  }),
  lowDiskPercent: fixed({
    name: "HEADGATE_LOW_DISK",
    description: "Percent of the data disk that stay free: below it writes are refused. 0 turns the check off.",
    allowed: "an integer from 0 to 99",
    parse: integer(0, 99),
    default: "5",
  }),
  defaultFeatures: fixed({
    name: "HEADGATE_FEATURES",
    description: "The features that are on in new accounts.",
    allowed: `a comma list of ${features.join(", ")}, or none`,
    parse: listOf<Feature>((text) => (isFeature(text) ? text : undefined)),
    default: "none",
  }),
  allowedNetworks: derived({
    name: "HEADGATE_ALLOWED_NETWORKS",
    description:
      "Private networks that addresses given by users (data stores, gateways, S3, HDFS, clusters) may lie in. " +
      "Link-local and metadata addresses never may.",
    allowed: networks,
    parse: listOf(network),
    derived: "loopback when HEADGATE_HOST is loopback, else none",
  }),
  hadoopConfs: fixed({
    name: "HEADGATE_HADOOP_CONFS",
    description:
      "Folders with the Hadoop configuration of YARN clusters on this machine, by the name that clusters know them by. " +
      "A spark-defaults.conf in one is for Spark on that cluster.",
    allowed: "a comma list of name=/absolute/folder, or none",
    parse: listOf(namedFolder),
    default: "none",
  }),
  memoryBudgetMiB: derived({
    name: "HEADGATE_MEMORY_BUDGET",
    description: "Memory that the commands running on this node may have together.",
    allowed: "a size such as 8g or 8192m",
    parse: sizeMiB,
    derived: "70 % of the machine",
  }),
  commandsPerAccount: fixed({
    name: "HEADGATE_COMMANDS_PER_ACCOUNT",
    description: "Commands of one account that run at the same time, on all nodes together.",
    allowed: "an integer from 1 to 100000",
    parse: integer(1, 100_000),
    default: "20",
  }),
  commandsPerCluster: fixed({
    name: "HEADGATE_COMMANDS_PER_CLUSTER",
    description: "Commands that run at the same time on a cluster that names no number of its own.",
    allowed: "an integer from 1 to 100000",
    parse: integer(1, 100_000),
    default: "8",
  }),
  timeoutCheckSeconds: fixed({
    name: "HEADGATE_TIMEOUT_CHECK_SECONDS",
    description: "Seconds between two looks at a command's timeout, counted from its start.",
    allowed: "an integer from 1 to 3600",
    parse: integer(1, 3600),
    default: "60",
  }),
  leaseSeconds: fixed({
    name: "HEADGATE_LEASE_SECONDS",
    description:
      "Seconds after which the commands of a node cut off from a shared database end, and others settle them.",
    allowed: "an integer from 5 to 86400",
    parse: integer(5, 86_400),
    default: "600",
  }),
  orphanMinutes: fixed({
    name: "HEADGATE_ORPHAN_MINUTES",
    description:
      "Minutes after which an idle warm server, metastore or standby driver ends by itself if Headgate has not come " +
      "back.",
    allowed: "an integer from 1 to 10080",
    parse: integer(1, 10_080),
    default: "10",
  }),
  logLimitMiB: fixed({
    name: "HEADGATE_LOG_LIMIT",
    description: "How much of a command's log is kept; what comes after it is dropped.",
    allowed: "a size such as 100m or 1g",
    parse: sizeMiB,
    default: "100m",
  }),
  retainResultsDays: fixed({
    name: "HEADGATE_RETAIN_RESULTS",
    description: "Days for which the results of commands are kept on this node.",
    allowed: "an integer from 1 to 36500",
    parse: integer(1, 36_500),
    default: "30",
  }),
  retainLogsDays: fixed({
    name: "HEADGATE_RETAIN_LOGS",
    description: "Days for which the logs of commands are kept on this node.",
    allowed: "an integer from 1 to 36500",
    parse: integer(1, 36_500),
    default: "30",
  }),
  retainSizeMiB: fixed({
    name: "HEADGATE_RETAIN_SIZE",
    description:
      "How much room the results, logs and event logs of ended commands may take on this node; beyond it the oldest go.",
    allowed: "a size such as 100g or 500m",
    parse: sizeMiB,
    default: "100g",
  }),
  isolation: fixed({
    name: "HEADGATE_ISOLATION",
    description:
      "What keeps programs apart: bubblewrap; auto, which takes it where it is and else runs programs of the first " +
      "account only; none, where every account is trusted.",
    allowed: `one of ${isolations.join(", ")}`,
    parse: oneOf(isolations),
    default: "auto",
  }),
  passphrase: derived({
    name: "HEADGATE_PASSPHRASE",
    description: "The passphrase of `admin export` and `admin import` where nobody can type it.",
    allowed: "a text of at least 12 characters",
    parse: (text) => (text.length >= 12 ? new Secret(text) : undefined),
    secret: true,
    derived: "asked for on the terminal",
  }),
  logLevel: fixed({
    name: "HEADGATE_LOG_LEVEL",
    description: "How much is logged to standard error.",
    allowed: `one of ${logLevels.join(", ")}`,
    parse: oneOf(logLevels),
    default: "info",
  }),
  logFormat: fixed({
    name: "HEADGATE_LOG_FORMAT",
    description:
      "The format of the log: text for people, json for programs, or auto, which is text if standard error is a " +
      "terminal and json otherwise.",
    allowed: `one of ${logFormats.join(", ")}`,
    parse: oneOf(logFormats),
    default: "auto",
  }),
} as const;

/** The table as a list, for whoever only shows it. */
export const settingList: readonly (FixedSetting<unknown> | DerivedSetting<unknown>)[] = Object.values(settings);
