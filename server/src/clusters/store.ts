import type { Queryable, Tx } from "../db/database.ts";
import type { Reference } from "../access/reference.ts";

export type ClusterState = "DOWN" | "PENDING" | "UP" | "TERMINATING";

export interface ClusterRow {
  id: number;
  accountId: number;
  labels: string[];
  engine: { type: string };
  sparkConfig: Record<string, unknown>;
  pools: Record<string, unknown>;
  maxConcurrentCommands: number | null;
  idleClusterTimeoutHours: number | null;
  idleClusterTimeoutSeconds: number | null;
  state: ClusterState;
  createdAt: Date;
  updatedAt: Date;
}

const COLUMNS = `
  c.id, c.account_id as "accountId", c.engine, c.spark_config as "sparkConfig", c.pools,
  c.max_concurrent_commands as "maxConcurrentCommands", c.idle_cluster_timeout_hours as "idleClusterTimeoutHours",
  c.idle_cluster_timeout_seconds as "idleClusterTimeoutSeconds", c.state, c.created_at as "createdAt",
  c.updated_at as "updatedAt",
  array(select l.label from cluster_label l where l.cluster_id = c.id order by l.label) as labels`;

export interface NewCluster {
  accountId: number;
  engine: { type: string };
  labels: readonly string[];
}

export async function insertCluster(tx: Tx, { accountId, engine, labels }: NewCluster): Promise<void> {
  await tx.query(
    `with made as (insert into cluster (account_id, engine) values ($1, $2) returning id)
     insert into cluster_label (account_id, label, cluster_id) select $1, label, made.id from made, unnest($3::text[]) label`,
    [accountId, JSON.stringify(engine), [...labels]],
  );
}

export async function listClusters(reader: Queryable, page: { limit: number; offset: number }): Promise<ClusterRow[]> {
  return reader.query(`select ${COLUMNS} from cluster c order by c.id limit $1 offset $2`, [page.limit, page.offset]);
}

/** By its id or one of its labels. */
export async function findCluster(reader: Queryable, { id, name }: Reference): Promise<ClusterRow | undefined> {
  const [row] = await reader.query<ClusterRow>(
    `select ${COLUMNS} from cluster c
      where c.id = $1 or c.id = (select l.cluster_id from cluster_label l where l.label = $2)`,
    [id, name],
  );
  return row;
}
