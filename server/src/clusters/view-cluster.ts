import { operation } from "../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import { Cluster, clusterObject } from "./cluster.ts";
import { CLUSTER_IN_ENVELOPE } from "./cluster-forms.ts";
import { clusterInPath, ClusterParams } from "./cluster-in-path.ts";

export const viewCluster = operation({
  id: "cluster_view",
  summary: "View a cluster",
  description: "By its id or one of its labels.",
  tag: "Clusters",
  method: "GET",
  paths: { "v1.2": "/clusters/:cluster_id", v2: "/clusters/:cluster_id" },
  access: {
    permission: OBJECT_PERMISSIONS.cluster.read,
    object: { type: "cluster", action: "read" },
  },
  params: ClusterParams,
  example: { params: { cluster_id: "default" } },
  reply: Cluster,
  forms: CLUSTER_IN_ENVELOPE,
  find: clusterInPath,

  handle: async ({ found }) => clusterObject(found),
});
