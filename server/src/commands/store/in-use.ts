import type { Queryable } from "../../db/database.ts";
import { FREE, HELD } from "./queue.ts";

/** Whether a command of the account runs on the node. */
export async function runsForAccount(db: Queryable, nodeId: string, accountId: number): Promise<boolean> {
  const [row] = await db.query<{ runs: boolean }>(
    `select exists (select from command where command.node_id = $1 and command.account_id = $2 and ${HELD}) as runs`,
    [nodeId, accountId],
  );
  return row?.runs ?? false;
}

/** Whether a command that needs the cluster runs on any node. */
export async function runsOnCluster(db: Queryable, clusterId: number): Promise<boolean> {
  const [row] = await db.query<{ there: boolean }>(
    `select exists (select from command where command.cluster_id = $1 and ${HELD} and command.node_id is not null
       and command.needs_cluster) as there`,
    [clusterId],
  );
  return row?.there ?? false;
}

/** Whether a command waits for the cluster. */
export async function waitsForCluster(db: Queryable, clusterId: number): Promise<boolean> {
  const [row] = await db.query<{ there: boolean }>(
    `select exists (select from command where command.cluster_id = $1 and ${FREE}) as there`,
    [clusterId],
  );
  return row?.there ?? false;
}

interface ClusterAndApp {
  readonly clusterId: number;
  readonly appId: number | null;
}

/** The scopes whose processes have to end: their cluster is not up, or it or their app is deleted. */
export function listEndedScopes(system: Queryable, scopes: readonly ClusterAndApp[]): Promise<ClusterAndApp[]> {
  return system.query(
    `select cluster_id as "clusterId", app_id as "appId"
       from unnest($1::bigint[], $2::bigint[]) as scope (cluster_id, app_id)
      where not exists (
              select from cluster where id = cluster_id and deleted_at is null and state in ('PENDING', 'UP'))
         or (app_id is not null and not exists (select from app where id = app_id))`,
    [scopes.map(({ clusterId }) => clusterId), scopes.map(({ appId }) => appId)],
  );
}
