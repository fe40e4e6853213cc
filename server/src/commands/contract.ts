import type { Tx } from "../db/database.ts";

/** The interface of this slice for clusters. */
export interface ClusterCommands {
  /**
   * Ends commands between two attempts that need the cluster: no node runs them, and none may claim them meanwhile. The
   * last attempt records the reason.
   */
  endBetweenAttempts(tx: Tx, clusterId: number): Promise<void>;
}

export interface WithClusterCommands {
  clusterCommands: ClusterCommands;
}
