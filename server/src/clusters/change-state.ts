import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import type { ClusterCommands, WithClusterCommands } from "../commands/contract.ts";
import type { Tx } from "../db/database.ts";
import { notFound, invalid } from "../lib/fault.ts";
import { OneOf } from "../http/schema.ts";
import { clusterInPath, ClusterParams } from "./cluster-in-path.ts";
import type { ClusterServices } from "./cluster-services.ts";
import { lockCluster, type ClusterRow } from "./store/cluster.ts";
import { countRunning, lockClaims } from "./store/commands.ts";
import { beginEnd, beginStart } from "./store/lifecycle.ts";

const PERMISSIONS = OBJECT_PERMISSIONS.cluster;

/** Replies at once; GET shows the progress. A request for the current or upcoming state changes nothing. */
export const changeClusterState = operation({
  id: "cluster_state_change",
  summary: "Start or terminate a cluster",
  description:
    "To terminate, a member needs the group system-admin or a role that allows terminate on cluster. While commands run " +
    "on the cluster, `force` is required, and they end as error. Commands that wait start the cluster again.",
  tag: "Clusters",
  method: "PUT",
  paths: { "v1.2": "/clusters/:cluster_id/state" },
  access: {
    permission: PERMISSIONS.start,
    alternatives: [{ ...PERMISSIONS.terminate, action: "terminate" }],
    object: { type: "cluster", action: "start" },
  },
  params: ClusterParams,
  body: Type.Object({
    state: OneOf(["start", "terminate"]),
    force: Type.Optional(
      Type.Boolean({ default: false, description: "Terminate even if commands run on the cluster" }),
    ),
  }),
  example: { params: { cluster_id: "default" }, body: { state: "start" } },
  reply: Type.Object({ message: Type.String() }),
  find: clusterInPath,

  async handle(
    { found, params, body, change, authorise },
    { clusterLifecycle, clusterCommands }: Pick<ClusterServices, "clusterLifecycle"> & WithClusterCommands,
  ) {
    // The gate admits callers who may do either of the two.
    await authorise(found.policyObject, body.state, PERMISSIONS[body.state]);
    const { message, isBegun } = await change(async (tx, audit) => {
      audit.object = `cluster/${found.id}/${body.state}`;
      if (body.state === "terminate") lockClaims(tx);
      const cluster = await lockCluster(tx, found.id);
      if (cluster === undefined) throw notFound("Cluster", params.cluster_id);
      return body.state === "start" ? start(tx, cluster) : terminate(tx, cluster, body.force ?? false, clusterCommands);
    });
    if (isBegun) clusterLifecycle.proceed(found.id);
    return { message };
  },
});

interface Outcome {
  message: string;
  isBegun: boolean;
}

async function start(tx: Tx, { id, state }: ClusterRow): Promise<Outcome> {
  switch (state) {
    case "DOWN":
      return { message: `Starting cluster ${id}.`, isBegun: await beginStart(tx, id) };
    case "TERMINATING":
      throw invalid("state", "must not be start while the cluster is TERMINATING: try again when it is DOWN");
    case "PENDING":
    case "UP":
      return { message: `Cluster ${id} is already ${state}.`, isBegun: false };
  }
}

async function terminate(
  tx: Tx,
  { id, state }: ClusterRow,
  force: boolean,
  commands: ClusterCommands,
): Promise<Outcome> {
  if (state === "DOWN" || state === "TERMINATING") {
    return { message: `Cluster ${id} is already ${state}.`, isBegun: false };
  }
  const running = await countRunning(tx, id);
  if (running > 0 && !force) {
    throw invalid(
      "state",
      `must not be terminate while commands run on the cluster (${running}): wait for them, or set force to true`,
    );
  }
  if (running > 0) await commands.endBetweenAttempts(tx, id);
  return { message: `Terminating cluster ${id}.`, isBegun: await beginEnd(tx, id) };
}
