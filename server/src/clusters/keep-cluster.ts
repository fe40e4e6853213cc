import type { Tx } from "../db/database.ts";
import { invalid } from "../lib/fault.ts";
import { labelTaken } from "./labels.ts";
import { countClusters, findCluster, type ClusterRow } from "./store/cluster.ts";
import { replaceLabels } from "./store/labels.ts";

/** Every node looks at what is up, and lists are paged by offset. */
const CLUSTERS_AT_MOST = 500;

/** After an insert, in its transaction. */
export async function checkClusterCount(tx: Tx): Promise<void> {
  if ((await countClusters(tx)) > CLUSTERS_AT_MOST) {
    throw invalid("labels", `must not be those of one cluster more than the ${CLUSTERS_AT_MOST} of an account`);
  }
}

export async function keepLabels(tx: Tx, clusterId: number, labels: readonly string[]): Promise<void> {
  const [taken] = await replaceLabels(tx, clusterId, labels);
  if (taken !== undefined) throw labelTaken(taken);
}

/** As it is after the statements before. */
export async function clusterAfter(tx: Tx, id: number): Promise<ClusterRow> {
  const row = await findCluster(tx, { id, name: null });
  if (row === undefined) throw new Error("a cluster that this transaction holds is gone");
  return row;
}
