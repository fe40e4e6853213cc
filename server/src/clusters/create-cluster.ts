import { operation } from "../access/operation.ts";
import { Cluster, clusterObject } from "./cluster.ts";
import { ClusterBody } from "./cluster-fields.ts";
import type { ClusterServices } from "./cluster-services.ts";
import { mergedSettings, NEW_CLUSTER } from "./cluster-settings.ts";
import { sealedToken, tokenSealer } from "./cluster-token.ts";
import { checkClusterCount, readCluster, setLabels } from "./cluster-changes.ts";
import { checkLabels } from "./labels.ts";
import { insertCluster } from "./store/cluster.ts";

/** The new cluster is started only by a request or by its first command. */
export const createCluster = operation({
  id: "cluster_create",
  summary: "Create a cluster",
  tag: "Clusters",
  method: "POST",
  paths: { "v1.2": "/clusters" },
  access: { permission: { groups: ["system-admin"], role: "cluster:create" } },
  body: ClusterBody,
  example: { body: { labels: ["etl"], engine: { type: "local" }, max_concurrent_commands: 4 } },
  reply: Cluster,

  async handle({ body, caller, change }, { keys, clusterRules }: Pick<ClusterServices, "keys" | "clusterRules">) {
    const labels = checkLabels(body.labels);
    const settings = mergedSettings(body, NEW_CLUSTER, { ...clusterRules, caller });
    const seal = tokenSealer(keys, caller.accountId);
    const token = sealedToken(body.engine, settings.engine, { engine: NEW_CLUSTER.engine, token: null }, seal);
    return change(async (tx, audit) => {
      const id = await insertCluster(tx, caller.membershipId, settings, token);
      await checkClusterCount(tx);
      await setLabels(tx, id, labels);
      audit.object = `cluster/${id}`;
      return clusterObject(await readCluster(tx, id));
    });
  },
});
