import type { Queryable } from "../db/database.ts";
import { invalid, type Fault } from "../lib/fault.ts";
import { shownValue } from "../lib/shown-value.ts";
import type { ClusterLabels, SoughtCluster } from "./contract.ts";
import { listLabels } from "./store/labels.ts";

const MAX_SHOWN = 10;

/** Implements the interface for other slices; compose/services.ts passes it to them. */
export const clusterLabels: ClusterLabels = { unknown: unknownCluster };

export async function unknownCluster(reader: Queryable, { field, reference, scope }: SoughtCluster): Promise<Fault> {
  const labels = await listLabels(reader, scope, MAX_SHOWN + 1);
  return invalid(field, `names no cluster of the account: ${shownValue(reference)}. ${choice(labels)}`);
}

function choice(labels: readonly string[]): string {
  if (labels.length === 0) return "There are no clusters that you may read.";
  const shown = labels.slice(0, MAX_SHOWN).map(shownValue).join(", ");
  return labels.length > MAX_SHOWN ? `GET clusters lists all labels, such as ${shown}.` : `The labels are ${shown}.`;
}
