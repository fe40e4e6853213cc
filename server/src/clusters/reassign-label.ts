import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { parseReference, PathReference } from "../access/reference.ts";
import type { Tx } from "../db/database.ts";
import { invalid } from "../lib/fault.ts";
import { Cluster, clusterObject } from "./cluster.ts";
import { readCluster } from "./cluster-changes.ts";
import { Label } from "./labels.ts";
import { findCluster, lockCluster, type ClusterRow } from "./store/cluster.ts";
import { insertLabel, lockLabel, moveLabel } from "./store/labels.ts";

/** Commands that are submitted afterwards with the label run on the other cluster. */
export const reassignLabel = operation({
  id: "cluster_label_reassign",
  summary: "Move a label to another cluster",
  description: "Returns the cluster that now has the label. A cluster without labels is labelled cluster-<id>.",
  tag: "Clusters",
  method: "PUT",
  paths: { "v1.2": "/clusters/reassign-label" },
  access: { permission: { groups: ["system-admin"], role: "cluster:update" } },
  body: Type.Object({ destination_cluster: PathReference, label: Label }),
  example: { body: { destination_cluster: "default", label: "nightly" } },
  reply: Cluster,

  async handle({ body, change }) {
    return change(async (tx, audit) => {
      const destination = await lockDestination(tx, body.destination_cluster);
      const source = await lockLabel(tx, body.label);
      if (source === undefined) throw invalid("label", "names no cluster of the account");
      audit.object = `cluster/${destination.id}`;
      if (source.clusterId === destination.id) return clusterObject(destination);
      await moveLabel(tx, body.label, source.clusterId, destination.id);
      if (source.labels === 1) await giveLabel(tx, source.clusterId);
      return clusterObject(await readCluster(tx, destination.id));
    });
  },
});

async function lockDestination(tx: Tx, reference: string): Promise<ClusterRow> {
  const found = await findCluster(tx, parseReference(reference));
  const row = found === undefined ? undefined : await lockCluster(tx, found.id);
  if (row === undefined) throw invalid("destination_cluster", "names no cluster of the account");
  return row;
}

/** Every cluster has at least one label. */
async function giveLabel(tx: Tx, clusterId: number): Promise<void> {
  if (await insertLabel(tx, `cluster-${clusterId}`, clusterId)) return;
  throw invalid("label", "is the only label of its cluster: give that cluster another label first");
}
