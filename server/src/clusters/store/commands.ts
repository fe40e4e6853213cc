/** The commands of a cluster, as far as this slice needs them. */
import type { Queryable, Tx } from "../../db/database.ts";

/** No command of the account is claimed until the transaction ends: the queue takes the same lock. */
export function lockClaims(tx: Tx): void {
  tx.send("select pg_advisory_xact_lock(hashtextextended('headgate claim', current_account_id()))");
}

/** Whether any command waits or runs. */
export async function hasUnfinished(reader: Queryable, clusterId: number): Promise<boolean> {
  const [row] = await reader.query<{ there: boolean }>(
    "select exists (select from command where cluster_id = $1 and end_time is null) as there",
    [clusterId],
  );
  return row?.there ?? false;
}

/** Counts only commands that need the cluster. */
export async function countRunning(reader: Queryable, clusterId: number): Promise<number> {
  const [row] = await reader.query<{ commands: number }>(
    `select count(*) as commands from command
      where account_id = current_account_id() and status in ('running', 'cancelling') and cluster_id = $1
        and needs_cluster`,
    [clusterId],
  );
  return row?.commands ?? 0;
}
