import { features, isFeature, type Feature } from "../lib/features.ts";
import { Secret } from "../lib/secret.ts";
import { A_PATH, host, httpAddress, integer, listOf, matching, network, oneOf, path } from "./parse-value.ts";
import { derived, fixed } from "./setting.ts";

const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

const logFormats = ["auto", "text", "json"] as const;
export type LogFormat = (typeof logFormats)[number];

const commandTimes = ["iso", "epoch"] as const;
const sensorStatuses = ["text", "boolean"] as const;
const networks = "a comma-separated list of IP addresses or CIDR blocks without host bits, or none";

/** Settings of the server itself: addresses, folders, logging. */
export const serverSettings = {
  host: fixed({
    name: "HEADGATE_HOST",
    description:
      "The address to listen on. On loopback and with 0.0.0.0, the port is bound in both address families. For other " +
      "addresses than loopback, put a TLS proxy in front.",
    allowed: "an IP address or a host name",
    parse: host,
    default: "127.0.0.1",
  }),
  port: fixed({
    name: "HEADGATE_PORT",
    description: "The port to listen on. 0 chooses a free port, which the ready line shows.",
    allowed: "an integer from 0 to 65535",
    parse: integer(0, 65_535),
    default: "8470",
  }),
  dataDir: derived({
    name: "HEADGATE_DATA_DIR",
    description: "The folder of the database, the keys and the accounts' files. Back this up.",
    allowed: A_PATH,
    parse: path,
    derived: "data in the repository; as root /var/lib/headgate",
  }),
  cacheDir: derived({
    name: "HEADGATE_CACHE_DIR",
    description: "The folder of files that can be downloaded or built again.",
    allowed: A_PATH,
    parse: path,
    derived: "${XDG_CACHE_HOME:-~/.cache}/headgate; as root /var/cache/headgate",
  }),
  adminEmail: fixed({
    name: "HEADGATE_ADMIN_EMAIL",
    description:
      "The e-mail address of the operator, the user whom the first start creates. It must not contain a slash.",
    allowed: "an e-mail address of at most 254 characters",
    parse: matching(/^(?=.{3,254}$)[^\s@,]+@[^\s@,]+$/),
    default: "admin@localhost",
  }),
  databaseUrl: derived({
    name: "DATABASE_URL",
    description: "Your own PostgreSQL server instead of the embedded one. Several nodes must share one.",
    allowed: "a postgres:// or postgresql:// address",
    parse: (text) => (/^postgres(ql)?:\/\/\S+$/.test(text) ? new Secret(text) : undefined),
    secret: true,
    derived: "the embedded server in the data directory",
  }),
  keyFile: derived({
    name: "HEADGATE_KEY_FILE",
    description: "The file with the encryption keys of stored secrets. Without it the secrets are lost.",
    allowed: A_PATH,
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
    description: "The format of start_time and end_time of commands: UTC text, or seconds since 1970.",
    allowed: `one of ${commandTimes.join(", ")}`,
    parse: oneOf(commandTimes),
    default: "iso",
  }),
  sensorStatus: fixed({
    name: "HEADGATE_SENSOR_STATUS",
    description:
      'The form of status in answers of sensors: text ("true", "false"), or boolean for clients that take any text for ' +
      "true, such as Airflow's sensors.",
    allowed: `one of ${sensorStatuses.join(", ")}`,
    parse: oneOf(sensorStatuses),
    default: "text",
  }),
  trustedProxies: fixed({
    name: "HEADGATE_TRUSTED_PROXIES",
    description:
      "The proxies whose X-Forwarded-For header is trusted. Loopback addresses need HEADGATE_PROXY_SOCKET or " +
      "HEADGATE_PROXY_SECRET_FILE, because every program on this machine can connect from there.",
    allowed: networks,
    parse: listOf(network),
    default: "none",
  }),
  proxySocket: derived({
    name: "HEADGATE_PROXY_SOCKET",
    description:
      "A Unix socket for a proxy on this machine, whose X-Forwarded-For header is then trusted. Everyone who can enter " +
      "its folder can connect, so the folder must be closed to other users (mode 0750).",
    allowed: `${A_PATH} of at most 103 bytes`,
    parse: path,
    derived: "none",
  }),
  proxySecretFile: derived({
    name: "HEADGATE_PROXY_SECRET_FILE",
    description:
      "A file with a secret of at least 32 characters that every proxy in HEADGATE_TRUSTED_PROXIES must send in the " +
      "header X-Headgate-Proxy.",
    allowed: A_PATH,
    parse: path,
    derived: "proxies prove themselves by their address",
  }),
  nodeAddress: derived({
    name: "HEADGATE_NODE_ADDRESS",
    description:
      "The address at which other nodes with the same database reach this one, for logs and results that are only here.",
    allowed: "an http:// or https:// address without user, query or fragment",
    parse: httpAddress,
    derived: "the address it listens on; none if it listens on all addresses",
  }),
  s3Endpoint: derived({
    name: "HEADGATE_S3_ENDPOINT",
    description: "The S3-compatible store of accounts without an endpoint of their own.",
    allowed: "an http:// or https:// address without user, query or fragment",
    parse: httpAddress,
    derived: "the provider's, by region",
  }),
  allowedNetworks: derived({
    name: "HEADGATE_ALLOWED_NETWORKS",
    description:
      "Private networks that addresses given by users (data stores, gateways, S3, HDFS, clusters) may be in. " +
      "Link-local and metadata addresses are never allowed.",
    allowed: networks,
    parse: listOf(network),
    derived: "loopback if HEADGATE_HOST is loopback, else none",
  }),
  defaultFeatures: fixed({
    name: "HEADGATE_FEATURES",
    description: "The features that are enabled in new accounts.",
    allowed: `a comma-separated list of ${features.join(", ")}, or none`,
    parse: listOf<Feature>((text) => (isFeature(text) ? text : undefined)),
    default: "none",
  }),
  passphrase: derived({
    name: "HEADGATE_PASSPHRASE",
    description: "The passphrase of `admin export` and `admin import`, for unattended use.",
    allowed: "at least 12 characters",
    parse: (text) => (text.length >= 12 ? new Secret(text) : undefined),
    secret: true,
    derived: "prompted for on the terminal",
  }),
  logLevel: fixed({
    name: "HEADGATE_LOG_LEVEL",
    description: "The lowest level of messages that are logged to standard error.",
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
