import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import { deletePolicies } from "../access/policy/store.ts";
import { notFound, invalid } from "../lib/fault.ts";
import { clusterInPath, ClusterParams } from "./cluster-in-path.ts";
import { DEFAULT_LABEL } from "./labels.ts";
import { lockCluster, markDeleted } from "./store/cluster.ts";
import { hasUnfinished, lockClaims } from "./store/commands.ts";
import { deleteLabels } from "./store/labels.ts";

/** Its commands stay in the history, and its labels can be used again. */
export const deleteCluster = operation({
  id: "cluster_delete",
  summary: "Delete a cluster",
  description: "The cluster must be DOWN, have no waiting command, and not be labelled default.",
  tag: "Clusters",
  method: "DELETE",
  paths: { "v1.2": "/clusters/:cluster_id" },
  access: {
    permission: OBJECT_PERMISSIONS.cluster.delete,
    object: { type: "cluster", action: "delete" },
  },
  params: ClusterParams,
  reply: Type.Object({ status: Type.Literal("deleted") }),
  find: clusterInPath,

  async handle({ found, params, change }) {
    return change(async (tx, audit) => {
      lockClaims(tx);
      const cluster = await lockCluster(tx, found.id);
      if (cluster === undefined) throw notFound("Cluster", params.cluster_id);
      if (cluster.labels.includes(DEFAULT_LABEL)) {
        throw invalid("cluster_id", `must not be the cluster labelled ${DEFAULT_LABEL}: move the label first`);
      }
      if (cluster.state !== "DOWN") {
        throw invalid("cluster_id", `must not be a cluster that is ${cluster.state}: terminate it first`);
      }
      // Labels first: a concurrent submission locks its label until its command is visible here.
      await deleteLabels(tx, cluster.id);
      if (await hasUnfinished(tx, cluster.id)) {
        throw invalid("cluster_id", "must not be a cluster whose commands wait or run: cancel them or wait for them");
      }
      await markDeleted(tx, cluster.id);
      deletePolicies(tx, "cluster", [cluster.id]);
      audit.object = `cluster/${cluster.id}`;
      return { status: "deleted" as const };
    });
  },
});
