import { Type } from "typebox";
import type { PolicyObject } from "../access/policy/policy.ts";
import { parseReference, PathReference } from "../access/reference.ts";
import type { Queryable } from "../db/database.ts";
import { notFound } from "../lib/fault.ts";
import { findCluster, type ClusterRow } from "./store/cluster.ts";

/** `clusters/<id or label>`. */
export const ClusterParams = Type.Object({ cluster_id: PathReference });

export interface FoundCluster extends ClusterRow {
  readonly policyObject: PolicyObject;
}

export function policyObjectOf({ id, ownerId }: Pick<ClusterRow, "id" | "ownerId">): PolicyObject {
  return { type: "cluster", id, ownerId };
}

/** For `find`. */
export async function clusterInPath({
  params,
  reader,
}: {
  params: { cluster_id: string };
  reader: Queryable;
}): Promise<FoundCluster> {
  const row = await findCluster(reader, parseReference(params.cluster_id));
  if (row === undefined) throw notFound("Cluster", params.cluster_id);
  return { ...row, policyObject: policyObjectOf(row) };
}
