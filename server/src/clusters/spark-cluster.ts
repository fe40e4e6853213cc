import { lookup } from "node:dns/promises";
import { readdir, readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { isLoopback } from "../lib/network-policy.ts";
import type { Database } from "../db/database.ts";
import { POOLS_PROPERTY, poolsProperty } from "../engines/connect-server/fair-pools.ts";
import type { ContributedPart, Contribution } from "../engines/spark-home/contribution.ts";
import { parseProperties } from "../engines/spark-submit/properties-file.ts";
import { allowedOperatorSettings, type SparkConfig } from "../engines/spark-submit/spark-config.ts";
import type { TableFormat } from "../engines/table-formats/table-format.ts";
import { Fault } from "../lib/fault.ts";
import type { KeyRing } from "../lib/key-ring.ts";
import { openToken } from "./cluster-token.ts";
import { connectAddress } from "./engine-address.ts";
import type { ClusterEngine, EngineRules } from "./engine.ts";
import { checkResolvedHosts, type Resolve } from "./resolved-hosts.ts";
import { findCluster, hasOtherAccounts } from "./store/cluster.ts";

const byName: Resolve = async (host) => (await lookup(host, { all: true })).map(({ address }) => address);

export interface SparkClusterRules extends EngineRules {
  /** `none`: accounts trust each other. */
  readonly isolation: "auto" | "bubblewrap" | "none";
}

export interface ClusterPart extends ContributedPart {
  readonly tableFormats: readonly TableFormat[];
}

/** The contribution of a cluster to the Sparks of its commands: its engine, its configuration and its pools. */
export function sparkCluster(
  db: Database,
  keys: KeyRing,
  rules: SparkClusterRules,
): (accountId: number, clusterId: number) => Promise<ClusterPart> {
  return async (accountId, clusterId) => {
    const cluster = await findCluster(db.accountReader(accountId), { id: clusterId, name: null });
    if (cluster === undefined) throw new Fault("invalid", "its cluster was deleted");
    const { engine, sparkConfig, pools, tableFormats } = cluster;
    const addresses = await checkResolvedHosts(engine, rules.allowedNetworks, byName);
    const token = openToken(keys, accountId, cluster.token)?.reveal();
    if (engine.type === "standalone" && token === undefined) await checkSoleAccount(db, accountId, rules);
    if (engine.type === "connect") {
      const remote = { ...connectAddress(engine.url), address: stableAddress(addresses), token };
      return { remote, tableFormats: [] };
    }
    const config =
      engine.type === "yarn"
        ? yarnConfig(await readHadoopConf(engine.hadoopConf, rules.hadoopConfs))
        : engineConfig(engine, { isLocal: addresses.every(isLoopback), token });
    const named = Object.keys(pools).length === 0 ? {} : { [POOLS_PROPERTY]: poolsProperty(pools) };
    return { ...config, properties: { ...sparkConfig, ...config.properties, ...named }, tableFormats };
  };
}

type EngineConfig = Pick<Contribution, "properties"> &
  Pick<ContributedPart, "defaults" | "env" | "classPath" | "readOnly">;

/** Executors on other machines must reach the driver. Otherwise it listens only on loopback. */
function remoteNetwork() {
  return {
    properties: { "spark.driver.bindAddress": "0.0.0.0", "spark.driver.host": ownAddress() },
    env: { SPARK_LOCAL_IP: "0.0.0.0" },
  };
}

/** The address at which other machines reach this one. */
function ownAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.find(({ family, internal }) => family === "IPv4" && !internal)?.address ?? "127.0.0.1";
}

/** A folder registered by the operator, with the configuration of Hadoop's clients and of Spark for one cluster. */
interface HadoopConf {
  readonly folder: string;
  /** From `spark-defaults.conf` in it, such as the location of Spark, the driver's address and the queue. */
  readonly sparkDefaults: SparkConfig;
}

const DEFAULTS_FILE = "spark-defaults.conf";

async function readHadoopConf(name: string, folders: ReadonlyMap<string, string>): Promise<HadoopConf> {
  const folder = folders.get(name);
  if (folder === undefined) throw new Fault("invalid", `HEADGATE_HADOOP_CONFS does not contain ${name} any more`);
  const ofConf = `of ${name} in HEADGATE_HADOOP_CONFS`;
  const names = await readdir(folder).catch(unreadable(`the folder ${ofConf}`));
  const text = names.includes(DEFAULTS_FILE)
    ? await readFile(join(folder, DEFAULTS_FILE), "utf8").catch(unreadable(`${DEFAULTS_FILE} ${ofConf}`))
    : "";
  return { folder, sparkDefaults: allowedOperatorSettings(parseProperties(text)) };
}

function unreadable(what: string): (cause: unknown) => never {
  return (cause) => {
    throw new Fault("unavailable", `${what} cannot be read on this node`, { cause });
  };
}

/** The folder names the cluster's machines: Hadoop finds it on the class path, Spark by the environment. */
function yarnConfig({ folder, sparkDefaults }: HadoopConf): EngineConfig {
  const { properties: network } = remoteNetwork();
  const { "spark.driver.bindAddress": bindAddress } = { ...network, ...sparkDefaults };
  return {
    defaults: { ...network, ...sparkDefaults },
    // In cluster mode the driver would run outside its sandbox, without our output, timeout and cancellation.
    properties: { "spark.master": "yarn", "spark.submit.deployMode": "client" },
    env: { HADOOP_CONF_DIR: folder, SPARK_LOCAL_IP: bindAddress },
    classPath: [folder],
    readOnly: [folder],
  };
}

/**
 * Without a secret, a driver reveals its settings to every process that reaches its port, including other accounts'.
 */
async function checkSoleAccount(db: Database, accountId: number, { isolation }: SparkClusterRules): Promise<void> {
  if (isolation === "none" || !(await hasOtherAccounts(db.system, accountId))) return;
  throw new Fault(
    "invalid",
    "its standalone cluster requires no secret, so programs of other accounts on this node could read this account's " +
      "keys: set spark.authenticate and spark.authenticate.secret there, and that secret as engine.token of the cluster; " +
      "or let the operator set HEADGATE_ISOLATION=none if all accounts trust each other",
  );
}

interface EngineFacts {
  /** The engine is on this machine. */
  readonly isLocal: boolean;
  readonly token: string | undefined;
}

function engineConfig(
  engine: Exclude<ClusterEngine, { type: "connect" | "yarn" }>,
  { isLocal, token }: EngineFacts,
): EngineConfig {
  const network = isLocal ? { properties: {} } : remoteNetwork();
  switch (engine.type) {
    case "local":
      return { properties: {} };
    case "standalone":
      return {
        ...network,
        properties: {
          ...network.properties,
          "spark.master": engine.masterUrl,
          // Masters, workers and their clients share one secret, or none.
          ...(token === undefined
            ? { "spark.authenticate": "false" }
            : { "spark.authenticate": "true", "spark.authenticate.secret": token }),
        },
      };
    case "kubernetes":
      return {
        ...network,
        properties: {
          ...network.properties,
          "spark.master": `k8s://${engine.apiServer}`,
          "spark.kubernetes.container.image": engine.image,
          "spark.kubernetes.namespace": engine.namespace,
        },
      };
  }
}

/** Always the same one, in whatever order they come: another address would mean another server. */
function stableAddress(addresses: readonly string[]): string {
  const [first] = addresses.toSorted((one, other) => isIP(one) - isIP(other) || (one < other ? -1 : 1));
  if (first === undefined) throw new Fault("unavailable", "the host of its Spark Connect server has no address");
  return first;
}
