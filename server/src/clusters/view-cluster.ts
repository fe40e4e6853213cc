import { operation } from "../access/operation.ts";
import { Cluster, clusterObject } from "./cluster.ts";
import { clusterInPath, ClusterParams } from "./cluster-in-path.ts";

export const viewCluster = operation({
  id: "cluster_view",
  summary: "View a cluster",
  description: "By its id or one of its labels.",
  tag: "Clusters",
  method: "GET",
  paths: { "v1.2": "/clusters/:cluster_id" },
  access: {
    permission: { groups: ["system-user", "system-admin"], role: "cluster:read" },
    object: { type: "cluster", idFrom: { params: "cluster_id" } },
  },
  params: ClusterParams,
  example: { params: { cluster_id: "default" } },
  reply: Cluster,
  find: clusterInPath,

  handle: async ({ found }) => clusterObject(found),
});
