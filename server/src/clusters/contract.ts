import type { ReadScope } from "../access/policy/read-scope.ts";
import type { Queryable } from "../db/database.ts";
import type { Fault } from "../lib/fault.ts";

/** The interface of this slice for other slices. */
export interface ClusterLabels {
  /** The refusal of a field that names a cluster which does not exist. It shows labels of clusters in the scope. */
  unknown(reader: Queryable, sought: SoughtCluster): Promise<Fault>;
}

export interface SoughtCluster {
  readonly field: string;
  /** The label or the id, as the request gives it. */
  readonly reference: string;
  /** Which clusters the caller may read. */
  readonly scope: ReadScope;
}

export interface WithClusterLabels {
  clusterLabels: ClusterLabels;
}
