import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import { isLoopback } from "../lib/network-policy.ts";
import type { Database } from "../db/database.ts";
import { POOLS_PROPERTY, poolsProperty } from "../engines/connect-server/fair-pools.ts";
import type { ContributedPart, Contribution } from "../engines/spark-home/contribution.ts";
import { Fault } from "../lib/fault.ts";
import type { KeyRing } from "../lib/key-ring.ts";
import { openToken } from "./cluster-token.ts";
import { connectAddress } from "./engine-address.ts";
import type { ClusterEngine, EngineRules } from "./engine.ts";
import { readHadoopConf, type HadoopConf } from "./hadoop-conf.ts";
import { checkResolvedHosts, type Resolve } from "./resolved-hosts.ts";
import { findCluster, hasOtherAccounts } from "./store/cluster.ts";

const byName: Resolve = async (host) => (await lookup(host, { all: true })).map(({ address }) => address);

export interface SparkClusterRules extends EngineRules {
  /** `none`: accounts trust each other. */
  readonly isolation: "auto" | "bubblewrap" | "none";
}

/** What a cluster adds to the Sparks of its commands: where the work is done, its configuration, its pools. */
export function sparkCluster(
  db: Database,
  keys: KeyRing,
  rules: SparkClusterRules,
): (accountId: number, clusterId: number) => Promise<ContributedPart> {
  return async (accountId, clusterId) => {
    const cluster = await findCluster(db.accountReader(accountId), { id: clusterId, name: null });
    if (cluster === undefined) throw new Fault("invalid", "its cluster was deleted");
    const { engine, sparkConfig, pools } = cluster;
    const addresses = await checkResolvedHosts(engine, rules.allowedNetworks, byName);
    const token = openToken(keys, accountId, cluster.token)?.reveal();
    if (engine.type === "standalone" && token === undefined) await checkAlone(db, accountId, rules);
    if (engine.type === "connect") {
      return { remote: { ...connectAddress(engine.url), address: oneOf(addresses), token } };
    }
    const place =
      engine.type === "yarn"
        ? yarnPlace(await readHadoopConf(engine.hadoopConf, rules.hadoopConfs))
        : placeOf(engine, { isHere: addresses.every(isLoopback), token });
    const named = Object.keys(pools).length === 0 ? {} : { [POOLS_PROPERTY]: poolsProperty(pools) };
    return { ...place, properties: { ...sparkConfig, ...place.properties, ...named } };
  };
}

type Place = Pick<Contribution, "properties"> & Pick<ContributedPart, "defaults" | "env" | "classPath" | "readOnly">;

/** Executors elsewhere have to reach the driver; on loopback nobody else shall. */
function openNetwork() {
  return {
    properties: { "spark.driver.bindAddress": "0.0.0.0", "spark.driver.host": ownAddress() },
    env: { SPARK_LOCAL_IP: "0.0.0.0" },
  };
}

/** As others reach this machine; on one without a network there are no others. */
function ownAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.find(({ family, internal }) => family === "IPv4" && !internal)?.address ?? "127.0.0.1";
}

/** Where its machines are stands in the folder: Hadoop finds it on the class path, Spark by the environment. */
function yarnPlace({ folder, sparkDefaults }: HadoopConf): Place {
  const { properties: network } = openNetwork();
  const { "spark.driver.bindAddress": bindAddress } = { ...network, ...sparkDefaults };
  return {
    defaults: { ...network, ...sparkDefaults },
    // In the other mode the driver would leave its sandbox, and with it our output, timeout and cancel.
    properties: { "spark.master": "yarn", "spark.submit.deployMode": "client" },
    env: { HADOOP_CONF_DIR: folder, SPARK_LOCAL_IP: bindAddress },
    classPath: [folder],
    readOnly: [folder],
  };
}

/** Without a secret a driver tells all of its settings to whoever reaches its port, and programs of this node do. */
async function checkAlone(db: Database, accountId: number, { isolation }: SparkClusterRules): Promise<void> {
  if (isolation === "none" || !(await hasOtherAccounts(db.system, accountId))) return;
  throw new Fault(
    "invalid",
    "its standalone cluster asks for no secret, so programs of other accounts here could read this account's keys: " +
      "set spark.authenticate and spark.authenticate.secret there, and that secret as engine.token of the cluster; " +
      "or let the operator set HEADGATE_ISOLATION=none where all accounts trust each other",
  );
}

interface PlaceFacts {
  /** On this machine alone. */
  readonly isHere: boolean;
  readonly token: string | undefined;
}

function placeOf(engine: Exclude<ClusterEngine, { type: "connect" | "yarn" }>, { isHere, token }: PlaceFacts): Place {
  const network = isHere ? { properties: {} } : openNetwork();
  switch (engine.type) {
    case "local":
      return { properties: {} };
    case "standalone":
      return {
        ...network,
        properties: {
          ...network.properties,
          "spark.master": engine.masterUrl,
          // Masters, workers and all who use them have one secret or none.
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

/** Of several always the same, however they are shuffled: another one is another server. */
function oneOf(addresses: readonly string[]): string {
  const [first] = addresses.toSorted((one, other) => isIP(one) - isIP(other) || (one < other ? -1 : 1));
  if (first === undefined) throw new Fault("unavailable", "the host of its Spark Connect server has no address");
  return first;
}
