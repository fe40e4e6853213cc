/**
 * The only reader of the environment and of the file in `HEADGATE_CONFIG`. Invalid settings stop the start, and all of
 * them are reported at once. The result is frozen, complete and typed, and `app` passes single values on.
 */
import { isAbsolute, join, resolve } from "node:path";
import ipaddr from "ipaddr.js";
import { parseConfigFile } from "./config/config-file.ts";
import { nearestName } from "./config/nearest-name.ts";
import type { Share } from "./config/parse-value.ts";
import { proxyProblems, type ProxySettings } from "./config/proxy-rules.ts";
import type { LogFormat, LogLevel } from "./config/server-settings.ts";
import type { FixedSetting, Setting } from "./config/setting.ts";
import { settingList, settings } from "./config/settings.ts";
import { Fault } from "./lib/fault.ts";
import type { Feature } from "./lib/features.ts";
import { oneLine } from "./lib/terminal/printable.ts";
import type { Secret } from "./lib/secret.ts";

export interface Config {
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  readonly cacheDir: string;
  /** Null: installed into the cache. */
  readonly sparkHome: string | null;
  /** Null: searched for. */
  readonly javaHome: string | null;
  readonly adminEmail: string;
  /** Null: the embedded server. */
  readonly databaseUrl: Secret | null;
  readonly keyFile: string;
  /** The path in `HEADGATE_CONFIG`; the file may contain secrets. */
  readonly configFile: string | null;
  readonly identifierPrefix: string;
  readonly commandTimes: "iso" | "epoch";
  readonly sensorStatus: "text" | "boolean";
  readonly trustedProxies: readonly string[];
  /** Null: none. */
  readonly proxySocket: string | null;
  /** Null: the address of a trusted proxy is enough. */
  readonly proxySecretFile: string | null;
  /** 0: no limit. */
  readonly rateLimitPerSecond: number;
  readonly rateBurst: number;
  /** 0: no limit. */
  readonly badTokenLimitPerMinute: number;
  /** Null: the address it listens on, if that is a single one. */
  readonly nodeAddress: string | null;
  readonly s3Endpoint: string | null;
  readonly retainAuditDays: number;
  readonly retainIdempotencyHours: number;
  /** 0: no check. */
  readonly lowDiskPercent: number;
  readonly defaultFeatures: readonly Feature[];
  readonly allowedNetworks: readonly string[];
  /** Folders of Hadoop configurations, by the names that clusters use. */
  readonly hadoopConfs: ReadonlyMap<string, string>;
  /** Null: a percentage of the machine's memory. */
  readonly memoryBudgetMiB: number | null;
  readonly accountsPerUser: number;
  readonly connections: number;
  readonly accountBodiesMiB: number;
  readonly nodeBodiesMiB: number;
  readonly commandsPerAccount: number;
  readonly commandsPerCluster: number;
  readonly accountMemory: Share;
  readonly timeoutCheckSeconds: number;
  readonly leaseSeconds: number;
  readonly orphanMinutes: number;
  readonly logLimitMiB: number;
  readonly inlineResultLimitMiB: number;
  /** 0: no limit. */
  readonly outputLimitMiB: number;
  /** 0: no limit. Null: depends on the number of cores. */
  readonly runProcesses: number | null;
  readonly runSessions: number;
  readonly runMemoryMiB: number | null;
  readonly runDisk: Share;
  readonly runNice: number;
  readonly accountDisk: Share;
  readonly retainResultsDays: number;
  readonly retainLogsDays: number;
  readonly retainSizeMiB: number;
  readonly isolation: "auto" | "bubblewrap" | "none";
  /** The passphrase of exports; null: prompted for. */
  readonly passphrase: Secret | null;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  /** Problems of the environment that do not stop the start. */
  readonly warnings: readonly string[];
}

export type Environment = Readonly<Record<string, string | undefined>>;

export interface ReadConfigOptions {
  repositoryDir: string;
  isRoot: boolean;
  readFile: (path: string) => string;
}

const loopbackNetworks = Object.freeze(["127.0.0.0/8", "::1/128"]);
const burstSeconds = 5;

export function readConfig(env: Environment, options: ReadConfigOptions): Config {
  const problems: string[] = [];
  const warnings: string[] = [];
  const given = collect(env, options, problems, warnings);

  const readers = valueReaders(given, options.repositoryDir, problems);
  const { optional, value, optionalPath, path } = readers;
  const host = value(settings.host);
  const dataDir = path(settings.dataDir, () => (options.isRoot ? "/var/lib/headgate" : "data"));
  const rateLimitPerSecond = value(settings.rateLimitPerSecond);
  const proxies = readProxies(readers, problems);
  const config: Config = {
    host,
    port: value(settings.port),
    dataDir,
    cacheDir: path(settings.cacheDir, () => defaultCacheDir(env, options.isRoot, problems)),
    sparkHome: optionalPath(settings.sparkHome),
    javaHome: optionalPath(settings.javaHome),
    adminEmail: value(settings.adminEmail),
    databaseUrl: optional(settings.databaseUrl),
    keyFile: path(settings.keyFile, () => join(dataDir, "keys")),
    configFile: configFileOf(env, options.repositoryDir),
    identifierPrefix: value(settings.identifierPrefix),
    commandTimes: value(settings.commandTimes),
    sensorStatus: value(settings.sensorStatus),
    ...proxies,
    rateLimitPerSecond,
    rateBurst: rateLimitPerSecond * burstSeconds,
    badTokenLimitPerMinute: value(settings.badTokenLimitPerMinute),
    nodeAddress: optional(settings.nodeAddress),
    s3Endpoint: optional(settings.s3Endpoint),
    retainAuditDays: value(settings.retainAuditDays),
    retainIdempotencyHours: value(settings.retainIdempotencyHours),
    lowDiskPercent: value(settings.lowDiskPercent),
    defaultFeatures: value(settings.defaultFeatures),
    allowedNetworks: optional(settings.allowedNetworks) ?? (isLoopback(host) ? loopbackNetworks : Object.freeze([])),
    hadoopConfs: new Map(value(settings.hadoopConfs)),
    memoryBudgetMiB: optional(settings.memoryBudgetMiB),
    accountsPerUser: value(settings.accountsPerUser),
    connections: value(settings.connections),
    accountBodiesMiB: value(settings.accountBodiesMiB),
    nodeBodiesMiB: value(settings.nodeBodiesMiB),
    commandsPerAccount: value(settings.commandsPerAccount),
    commandsPerCluster: value(settings.commandsPerCluster),
    accountMemory: value(settings.accountMemory),
    timeoutCheckSeconds: value(settings.timeoutCheckSeconds),
    leaseSeconds: value(settings.leaseSeconds),
    orphanMinutes: value(settings.orphanMinutes),
    logLimitMiB: value(settings.logLimitMiB),
    inlineResultLimitMiB: value(settings.inlineResultLimitMiB),
    outputLimitMiB: value(settings.outputLimitMiB),
    runProcesses: optional(settings.runProcesses),
    runSessions: value(settings.runSessions),
    runMemoryMiB: optional(settings.runMemoryMiB),
    runDisk: value(settings.runDisk),
    runNice: value(settings.runNice),
    accountDisk: value(settings.accountDisk),
    retainResultsDays: value(settings.retainResultsDays),
    retainLogsDays: value(settings.retainLogsDays),
    retainSizeMiB: value(settings.retainSizeMiB),
    isolation: value(settings.isolation),
    passphrase: optional(settings.passphrase),
    logLevel: value(settings.logLevel),
    logFormat: value(settings.logFormat),
    warnings: Object.freeze(warnings),
  };
  if (problems.length > 0) throw new Fault("invalid", problems.join("\n"));
  return Object.freeze(config);
}

/** Functions that read one setting and add to the problems if its value is not allowed. */
function valueReaders(given: ReadonlyMap<string, string>, repositoryDir: string, problems: string[]) {
  const optional = <T>(setting: Setting<T>): T | null => {
    const text = given.get(setting.name);
    if (text === undefined) return null;
    const value = setting.parse(text);
    if (value !== undefined) return value;
    problems.push(`${setting.name} must be ${setting.allowed}${setting.secret ? "" : `, not ${JSON.stringify(text)}`}`);
    return null;
  };
  const value = <T>(setting: FixedSetting<T>): T => optional(setting) ?? parseDefault(setting);
  const optionalPath = (setting: Setting<string>): string | null => {
    const given = optional(setting);
    return given === null ? null : resolve(repositoryDir, given);
  };
  const path = (setting: Setting<string>, otherwise: () => string): string =>
    resolve(repositoryDir, optional(setting) ?? otherwise());
  return { optional, value, optionalPath, path };
}

/** How the values fit together is checked only if each of them is valid. */
function readProxies({ value, optionalPath }: ReturnType<typeof valueReaders>, problems: string[]): ProxySettings {
  const before = problems.length;
  const proxies = {
    trustedProxies: value(settings.trustedProxies),
    proxySocket: optionalPath(settings.proxySocket),
    proxySecretFile: optionalPath(settings.proxySecretFile),
  };
  if (problems.length === before) problems.push(...proxyProblems(proxies));
  return proxies;
}

/**
 * Collects the values by name: the environment overrides the file, and empty values are left out. An unknown name in
 * the file is an error. In the environment it may belong to a client or to a later version, so it is only a warning.
 */
function collect(
  env: Environment,
  options: ReadConfigOptions,
  problems: string[],
  warnings: string[],
): ReadonlyMap<string, string> {
  const known = settingList.map((setting) => setting.name);
  const given = new Map<string, string>();
  const add = (name: string, text: string): void => {
    if (text.trim() !== "") given.set(name, text.trim());
  };

  const path = configFileOf(env, options.repositoryDir);
  if (path !== null) {
    const { values, problems: wrongLines } = parseConfigFile(readText(path, options.readFile, problems));
    problems.push(...wrongLines.map((problem) => `${path}: ${problem}`));
    for (const [name, text] of values) {
      if (known.includes(name)) add(name, text);
      else problems.push(`${name} in ${path} is not a setting${suggestion(name, known)}`);
    }
  }
  for (const [name, text = ""] of Object.entries(env)) {
    if (known.includes(name)) add(name, text);
    else if (name.startsWith(OUR_PREFIX) && name !== "HEADGATE_CONFIG") {
      const shown = oneLine(name); // a name in the environment may contain any character
      warnings.push(`the variable ${shown} is not a setting and has no effect${suggestion(name, known)}`);
    }
  }
  return given;
}

const OUR_PREFIX = "HEADGATE_";

/** Compares names without the prefix, which would make any two of our names similar. */
function suggestion(name: string, known: readonly string[]): string {
  const byTail = new Map(known.map((each) => [tailOf(each), each]));
  const nearest = byTail.get(nearestName(tailOf(name), [...byTail.keys()]) ?? "");
  return nearest === undefined ? "" : `; did you mean ${nearest}?`;
}

function tailOf(name: string): string {
  return name.startsWith(OUR_PREFIX) ? name.slice(OUR_PREFIX.length) : name;
}

function configFileOf(env: Environment, repositoryDir: string): string | null {
  const file = env["HEADGATE_CONFIG"]?.trim() ?? "";
  return file === "" ? null : resolve(repositoryDir, file);
}

function readText(path: string, readFile: ReadConfigOptions["readFile"], problems: string[]): string {
  try {
    return readFile(path);
  } catch (error) {
    problems.push(`HEADGATE_CONFIG cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    return "";
  }
}

function parseDefault<T>(setting: FixedSetting<T>): T {
  const value = setting.parse(setting.default);
  if (value === undefined) throw new Error(`the default of ${setting.name} breaks its own rule`);
  return value;
}

function defaultCacheDir(env: Environment, isRoot: boolean, problems: string[]): string {
  if (isRoot) return "/var/cache/headgate";
  const cacheHome = env["XDG_CACHE_HOME"] ?? "";
  if (isAbsolute(cacheHome)) return join(cacheHome, "headgate"); // by the XDG specification, a relative path is ignored
  const home = env["HOME"] ?? "";
  if (!isAbsolute(home)) problems.push("HEADGATE_CACHE_DIR must be set if the environment has no HOME");
  return join(home, ".cache/headgate");
}

/** The first start leaves the operator's token in this file. */
export function adminTokenFile({ dataDir }: Pick<Config, "dataDir">): string {
  return join(dataDir, "admin-token");
}

export function isLoopback(host: string): boolean {
  if (host === "localhost") return true;
  return ipaddr.isValid(host) && ipaddr.process(host).range() === "loopback";
}

/** A warning if tokens would cross a network unencrypted; null if they do not leave the machine. */
export function exposureWarning(socketUrls: readonly string[]): string | null {
  const hostOf = (url: string): string => new URL(url).hostname.replace(/^\[|\]$/g, "");
  const exposed = socketUrls.find((url) => !isLoopback(hostOf(url)));
  if (exposed === undefined) return null;
  return (
    `Listening on ${exposed} without TLS: tokens and data cross the network unencrypted. ` +
    "Put a TLS proxy in front and add it to HEADGATE_TRUSTED_PROXIES, or listen on 127.0.0.1 (docs/operations/network.md)."
  );
}
