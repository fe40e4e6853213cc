import { hostname } from "node:os";
import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import { Id, Nullable, OneOf, Timestamp } from "../http/schema.ts";
import { isoSeconds } from "../lib/clock.ts";
import { clusterInPath, ClusterParams } from "./cluster-in-path.ts";
import { ClusterNode, nodesOf } from "./nodes.ts";
import { CLUSTER_STATES } from "./store/cluster.ts";

export const viewClusterState = operation({
  id: "cluster_state_view",
  summary: "View the state of a cluster",
  tag: "Clusters",
  method: "GET",
  paths: { "v1.2": "/clusters/:cluster_id/state" },
  access: {
    permission: OBJECT_PERMISSIONS.cluster.read,
    object: { type: "cluster", action: "read" },
  },
  params: ClusterParams,
  example: { params: { cluster_id: "default" } },
  reply: Type.Object({
    cluster_id: Id,
    state: OneOf(CLUSTER_STATES),
    since: Timestamp,
    up_since: Nullable(
      Type.String({ description: "Null unless it is UP; the hours of the idle timeout count from here" }),
    ),
    start_failure: Nullable(Type.String({ description: "Why the last start failed" })),
    nodes: Type.Array(ClusterNode, { description: "The machines that are known; empty if the engine names none" }),
  }),
  find: clusterInPath,

  handle: async ({ found }) => ({
    cluster_id: found.id,
    state: found.state,
    since: isoSeconds(found.stateSince),
    up_since: found.upSince === null ? null : isoSeconds(found.upSince),
    start_failure: found.startFailure,
    nodes: nodesOf(found.engine, hostname()),
  }),
});
