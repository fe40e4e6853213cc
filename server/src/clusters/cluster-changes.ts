import type { PermissionRow } from "../access/permission.ts";
import type { Tx } from "../db/database.ts";
import { invalid } from "../lib/fault.ts";
import { labelTaken } from "./labels.ts";
import { countClusters, findCluster, type ClusterRow } from "./store/cluster.ts";
import { replaceLabels } from "./store/labels.ts";

/** For a new cluster and for a clone. */
export const MAY_CREATE: PermissionRow = { groups: ["system-admin"], role: "cluster:create" };

/** Every node polls all clusters that are up, and lists are paged by offset. */
const MAX_CLUSTERS = 500;

/** Call it after an insert, in the same transaction. */
export async function checkClusterCount(tx: Tx): Promise<void> {
  if ((await countClusters(tx)) > MAX_CLUSTERS) {
    throw invalid("labels", `cannot be added: an account can have at most ${MAX_CLUSTERS} clusters`);
  }
}

export async function setLabels(tx: Tx, clusterId: number, labels: readonly string[]): Promise<void> {
  const [taken] = await replaceLabels(tx, clusterId, labels);
  if (taken !== undefined) throw labelTaken(taken);
}

/** Reads the cluster after the changes of this transaction. */
export async function readCluster(tx: Tx, id: number): Promise<ClusterRow> {
  const row = await findCluster(tx, { id, name: null });
  if (row === undefined) throw new Error("the cluster of this transaction does not exist");
  return row;
}
