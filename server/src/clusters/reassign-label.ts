import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { missingPermission } from "../access/permission.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import { parseReference, PathReference } from "../access/reference.ts";
import type { ReadScope } from "../access/policy/read-scope.ts";
import type { Queryable, Tx } from "../db/database.ts";
import { invalid, type Fault } from "../lib/fault.ts";
import { Cluster, clusterObject } from "./cluster.ts";
import { CLUSTER_IN_ENVELOPE } from "./cluster-forms.ts";
import { policyObjectOf } from "./cluster-in-path.ts";
import { readCluster } from "./cluster-changes.ts";
import { Label } from "./labels.ts";
import { findCluster, lockCluster } from "./store/cluster.ts";
import { unknownCluster } from "./unknown-cluster.ts";
import { insertLabel, lockLabel, moveLabel } from "./store/labels.ts";

/** Commands that are submitted afterwards with the label run on the other cluster. */
export const reassignLabel = operation({
  id: "cluster_label_reassign",
  summary: "Move a label to another cluster",
  description:
    "Returns the cluster that now has the label. A cluster without labels is labelled cluster-<id>. Needs update on " +
    "both clusters. Refused if read on one of them is denied.",
  tag: "Clusters",
  method: "PUT",
  paths: { "v1.2": "/clusters/reassign-label", v2: "/clusters/reassign-label" },
  access: { permission: OBJECT_PERMISSIONS.cluster.update, object: { type: "cluster", action: "update" } },
  body: Type.Object({ destination_cluster: PathReference, label: Label }),
  example: { body: { destination_cluster: "default", label: "nightly" } },
  reply: Cluster,
  forms: CLUSTER_IN_ENVELOPE,

  async find({ given, reader, readableOf }) {
    const { destination_cluster: reference } = given();
    if (typeof reference !== "string") throw invalid("destination_cluster", "is required");
    const row = await findCluster(reader, parseReference(reference));
    if (row === undefined) throw await unknownDestination(reader, reference, readableOf("cluster"));
    return { id: row.id, policyObject: policyObjectOf(row) };
  },

  async handle({ found, body, caller, change, authorise, deny, readableOf }) {
    return change(async (tx, audit) => {
      const destination = await lockCluster(tx, found.id);
      if (destination === undefined) {
        throw await unknownDestination(tx, body.destination_cluster, readableOf("cluster"));
      }
      const previous = await lockLabel(tx, body.label);
      if (previous === undefined) {
        // Callers whom only a policy admits must not learn which labels exist.
        const refusal = missingPermission(OBJECT_PERMISSIONS.cluster.update, caller);
        if (refusal !== undefined) throw deny(refusal);
        throw await unknownCluster(tx, { field: "label", reference: body.label, scope: readableOf("cluster") });
      }
      const previousCluster = policyObjectOf({ id: previous.clusterId, ownerId: previous.ownerId });
      await authorise(previousCluster, "update", OBJECT_PERMISSIONS.cluster.update, tx);
      audit.object = `cluster/${destination.id}`;
      if (previous.clusterId === destination.id) return clusterObject(destination);
      await moveLabel(tx, body.label, previous.clusterId, destination.id);
      if (previous.labels === 1) await giveLabel(tx, previous.clusterId);
      return clusterObject(await readCluster(tx, destination.id));
    });
  },
});

function unknownDestination(reader: Queryable, reference: string, scope: ReadScope): Promise<Fault> {
  return unknownCluster(reader, { field: "destination_cluster", reference, scope });
}

/** Every cluster has at least one label. */
async function giveLabel(tx: Tx, clusterId: number): Promise<void> {
  if (await insertLabel(tx, `cluster-${clusterId}`, clusterId)) return;
  throw invalid("label", "is the only label of its cluster: give that cluster another label first");
}
