import type { Tx } from "../db/database.ts";

/** The interface of this slice for clusters. */
export interface ClusterCommands {
  /**
   * Ends the commands that need the cluster and wait for their next attempt: no node runs them, and none may claim them
   * meanwhile. Their last attempt records the reason.
   */
  endBetweenAttempts(tx: Tx, clusterId: number): Promise<void>;
}

export interface WithClusterCommands {
  clusterCommands: ClusterCommands;
}
