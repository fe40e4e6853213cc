import type { Reference } from "../../access/reference.ts";
import type { ReadScope } from "../../access/policy/read-scope.ts";
import { rowAccess } from "../../access/policy/row-access.ts";
import type { Queryable, Tx } from "../../db/database.ts";
import type { ClusterSettings } from "../cluster-settings.ts";

export const CLUSTER_STATES = ["DOWN", "PENDING", "UP", "TERMINATING"] as const;
export type ClusterState = (typeof CLUSTER_STATES)[number];

export interface ClusterRow extends ClusterSettings {
  id: number;
  accountId: number;
  labels: string[];
  /** The membership that created it. Null for the default cluster, and if that member has been deleted. */
  ownerId: number | null;
  /** The sealed token of a connect or standalone engine. */
  token: Buffer | null;
  state: ClusterState;
  stateSince: Date;
  /** Null unless it is UP. */
  upSince: Date | null;
  /** Why the last start failed. */
  startFailure: string | null;
  createdAt: Date;
  updatedAt: Date;
}

const COLUMNS = `
  c.id, c.account_id as "accountId", c.owner_id as "ownerId", c.engine, c.token, c.spark_config as "sparkConfig",
  c.table_formats as "tableFormats", c.pools,
  c.max_concurrent_commands as "maxConcurrentCommands", c.idle_cluster_timeout_hours as "idleClusterTimeoutHours",
  c.idle_cluster_timeout_seconds as "idleClusterTimeoutSeconds", c.state, c.state_since as "stateSince",
  c.up_since as "upSince", c.start_failure as "startFailure", c.created_at as "createdAt", c.updated_at as "updatedAt",
  array(select l.label from cluster_label l where l.cluster_id = c.id order by l.label) as labels`;

/** An account has a few hundred clusters at most, so those that the caller may not read can be filtered out. */
export async function listClusters(
  reader: Queryable,
  { limit, offset, idsAfter }: { limit: number; offset: number; idsAfter: number },
  scope: ReadScope,
): Promise<ClusterRow[]> {
  const access = rowAccess(scope, { type: "cluster" }, 4);
  return reader.query(
    `${access.with} select ${COLUMNS} from cluster c
      where c.id > $3 and c.deleted_at is null and ${access.mayUse("c", access.own("c.id"))}
      order by c.id limit $1 offset $2`,
    [limit, offset, idsAfter, ...access.values],
  );
}

/** By its id or one of its labels. */
export async function findCluster(reader: Queryable, { id, name }: Reference): Promise<ClusterRow | undefined> {
  const [row] = await reader.query<ClusterRow>(
    `select ${COLUMNS} from cluster c
      where (c.id = $1 or c.id = (select l.cluster_id from cluster_label l where l.label = $2)) and c.deleted_at is null`,
    [id, name],
  );
  return row;
}

/** Serialises changes to the cluster, and excludes its deletion meanwhile. */
export async function lockCluster(tx: Tx, id: number): Promise<ClusterRow | undefined> {
  const [row] = await tx.query<ClusterRow>(
    `select ${COLUMNS} from cluster c where c.id = $1 and c.deleted_at is null for no key update`,
    [id],
  );
  return row;
}

export async function countClusters(tx: Tx): Promise<number> {
  const [row] = await tx.query<{ clusters: number }>(
    "select count(*) as clusters from cluster where deleted_at is null",
  );
  return row?.clusters ?? 0;
}

/** Inserts no labels; they follow in the same transaction. */
export async function insertCluster(
  tx: Tx,
  ownerId: number,
  settings: ClusterSettings,
  token: Buffer | null,
): Promise<number> {
  const [row] = await tx.query<{ id: number }>(
    `insert into cluster (engine, spark_config, table_formats, pools, max_concurrent_commands, idle_cluster_timeout_hours,
       idle_cluster_timeout_seconds, token, owner_id)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9) returning id`,
    [...valuesOf(settings, token), ownerId],
  );
  if (row === undefined) throw new Error("an insert returned no row");
  return row.id;
}

export async function updateCluster(
  tx: Tx,
  id: number,
  settings: ClusterSettings,
  token: Buffer | null,
): Promise<void> {
  await tx.query(
    `update cluster set engine = $1, spark_config = $2, table_formats = $3, pools = $4, max_concurrent_commands = $5,
       idle_cluster_timeout_hours = $6, idle_cluster_timeout_seconds = $7, token = $8, updated_at = now()
      where id = $9`,
    [...valuesOf(settings, token), id],
  );
}

function valuesOf(settings: ClusterSettings, token: Buffer | null): unknown[] {
  return [
    JSON.stringify(settings.engine),
    JSON.stringify(settings.sparkConfig),
    settings.tableFormats,
    JSON.stringify(settings.pools),
    settings.maxConcurrentCommands,
    settings.idleClusterTimeoutHours,
    settings.idleClusterTimeoutSeconds,
    token,
  ];
}

/** The row stays for the history of commands, without settings and token. */
export async function markDeleted(tx: Tx, id: number): Promise<void> {
  await tx.query(
    "update cluster set deleted_at = now(), updated_at = now(), token = null, spark_config = '{}', pools = '{}' where id = $1",
    [id],
  );
}

export async function insertDefaultCluster(tx: Tx, accountId: number, label: string): Promise<void> {
  await tx.query(
    `with created as (insert into cluster (account_id, engine) values ($1, '{"type":"local"}') returning id)
     insert into cluster_label (account_id, label, cluster_id) select $1, $2, created.id from created`,
    [accountId, label],
  );
}

export async function hasOtherAccounts(system: Queryable, accountId: number): Promise<boolean> {
  const [row] = await system.query<{ others: boolean }>(
    "select exists (select from account where id <> $1) as others",
    [accountId],
  );
  return row?.others ?? true;
}
