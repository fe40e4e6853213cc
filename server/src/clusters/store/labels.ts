import type { ReadScope } from "../../access/policy/read-scope.ts";
import { rowAccess } from "../../access/policy/row-access.ts";
import type { Queryable, Tx } from "../../db/database.ts";

/** Gives the cluster exactly these labels. Returns those that another cluster has: the caller must then roll back. */
export async function replaceLabels(tx: Tx, clusterId: number, labels: readonly string[]): Promise<string[]> {
  const rows = await tx.query<{ label: string }>(
    `with gone as (delete from cluster_label where cluster_id = $1 and label <> all ($2::text[])),
     added as (
       insert into cluster_label (label, cluster_id) select label, $1 from unnest($2::text[]) label
       on conflict (account_id, label) do nothing returning label)
     select given.label from unnest($2::text[]) given (label)
      where given.label not in (select label from added)
        and not exists (select from cluster_label l where l.cluster_id = $1 and l.label = given.label)
      order by given.label`,
    [clusterId, [...labels]],
  );
  return rows.map(({ label }) => label);
}

interface LabelledCluster {
  readonly clusterId: number;
  readonly ownerId: number | null;
  /** How many labels it has. */
  readonly labels: number;
}

/** Locked until the transaction ends. Undefined: no cluster of the account has it. */
export async function lockLabel(tx: Tx, label: string): Promise<LabelledCluster | undefined> {
  const [row] = await tx.query<LabelledCluster>(
    `select l.cluster_id as "clusterId", (select c.owner_id from cluster c where c.id = l.cluster_id) as "ownerId",
            (select count(*) from cluster_label other where other.cluster_id = l.cluster_id) as labels
       from cluster_label l where l.label = $1 for update`,
    [label],
  );
  return row;
}

export async function moveLabel(tx: Tx, label: string, from: number, to: number): Promise<void> {
  tx.send("update cluster_label set cluster_id = $2 where label = $1", [label, to]);
  await tx.query("update cluster set updated_at = now() where id in ($1, $2)", [from, to]);
}

/** False: a cluster already has it. */
export async function insertLabel(tx: Tx, label: string, clusterId: number): Promise<boolean> {
  const rows = await tx.query(
    `insert into cluster_label (label, cluster_id) values ($1, $2)
     on conflict (account_id, label) do nothing returning label`,
    [label, clusterId],
  );
  return rows.length > 0;
}

export async function deleteLabels(tx: Tx, clusterId: number): Promise<void> {
  await tx.query("delete from cluster_label where cluster_id = $1", [clusterId]);
}

/** The labels of the clusters in the scope, by name. */
export async function listLabels(reader: Queryable, scope: ReadScope, limit: number): Promise<string[]> {
  const access = rowAccess(scope, { type: "cluster" }, 2);
  const rows = await reader.query<{ label: string }>(
    `${access.with} select l.label from cluster_label l join cluster c on c.id = l.cluster_id
      where ${access.mayUse("c", access.own("c.id"))} order by l.label limit $1`,
    [limit, ...access.values],
  );
  return rows.map(({ label }) => label);
}
