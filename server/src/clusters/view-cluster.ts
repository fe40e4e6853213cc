import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { parseReference, PathReference } from "../access/reference.ts";
import { notFound } from "../http/input.ts";
import { Cluster, clusterObject } from "./cluster.ts";
import { findCluster } from "./store.ts";

export const viewCluster = operation({
  id: "cluster_view",
  summary: "View a cluster",
  description: "By its id or one of its labels.",
  tag: "Clusters",
  method: "GET",
  paths: { "v1.2": "/clusters/:cluster_id" },
  access: { permission: { groups: ["system-user", "system-admin"], role: "cluster:read" } },
  params: Type.Object({ cluster_id: PathReference }),
  reply: Cluster,

  async find({ params, reader }) {
    const row = await findCluster(reader, parseReference(params.cluster_id));
    if (row === undefined) throw notFound();
    return row;
  },

  handle: async ({ found }) => clusterObject(found),
});
