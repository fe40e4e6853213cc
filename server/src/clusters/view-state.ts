import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import { Nullable, OneOf, Timestamp } from "../http/schema.ts";
import { isoSeconds } from "../lib/clock.ts";
import { clusterInPath, ClusterParams } from "./cluster-in-path.ts";
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
    state: OneOf(CLUSTER_STATES),
    since: Timestamp,
    up_since: Nullable(
      Type.String({ description: "Null unless it is UP; the hours of the idle timeout count from here" }),
    ),
    start_failure: Nullable(Type.String({ description: "Why the last start failed" })),
  }),
  find: clusterInPath,

  handle: async ({ found }) => ({
    state: found.state,
    since: isoSeconds(found.stateSince),
    up_since: found.upSince === null ? null : isoSeconds(found.upSince),
    start_failure: found.startFailure,
  }),
});
