import { scopeValues, verdictOn, type ReadScope } from "../../access/policy/read-scope.ts";
import { deletePolicies } from "../../access/policy/store.ts";
import type { Tx } from "../../db/database.ts";

/**
 * The deletion of a folder with everything below it. Folders are locked level by level from the top, so whatever is
 * created there meanwhile is either seen or refused. Then they are deleted from the bottom up, with what they contain.
 */
const BATCH = 5000;

export interface FolderBelow {
  id: number;
  parentId: number;
  ownerId: number | null;
}

/** Whether nothing lies in the folder. */
export async function isEmpty(tx: Tx, id: number): Promise<boolean> {
  const [row] = await tx.query<{ empty: boolean }>(
    `select not (exists (select from folder where parent_id = $1) or exists (select from note where folder_id = $1)
                 or exists (select from dashboard where folder_id = $1)) as empty`,
    [id],
  );
  return row?.empty ?? false;
}

/** Locks all folders below the locked one, and returns them level by level. Undefined: there are more than `limit`. */
export async function lockBelow(tx: Tx, id: number, limit: number): Promise<FolderBelow[][] | undefined> {
  const levels: FolderBelow[][] = [];
  let count = 0;
  for (let above = [id]; above.length > 0;) {
    const level: FolderBelow[] = [];
    for (const parents of batches(above)) {
      const rows = await tx.query<FolderBelow>(
        `select id, parent_id as "parentId", owner_id as "ownerId" from folder
          where parent_id = any ($1) order by id limit $2 for update`,
        [parents, limit - count + 1],
      );
      for (const row of rows) level.push(row);
      count += rows.length;
      if (count > limit) return undefined;
    }
    if (level.length > 0) levels.push(level);
    above = level.map((folder) => folder.id);
  }
  return levels;
}

/** How many notebooks and dashboards are in the folders, or a little more than `limit`, and the size of their content. */
export async function measureContents(
  tx: Tx,
  ids: readonly number[],
  limit: number,
): Promise<{ count: number; bytes: number }> {
  const total = { count: 0, bytes: 0 };
  for (const some of batches(ids)) {
    const [row] = await tx.query<{ count: number; bytes: string }>(
      `select count(*) as count, coalesce(sum(bytes), 0)::text as bytes
         from ((select bytes from note where folder_id = any ($1) limit $2)
               union all (select bytes from dashboard where folder_id = any ($1) limit $2)) content`,
      [some, limit + 1],
    );
    total.count += row?.count ?? 0;
    total.bytes += Number(row?.bytes ?? 0);
    if (total.count > limit) break;
  }
  return total;
}

/** The verdicts on writing of the folders' own policies, for the caller: even allows, odd denies. */
export async function readWriteVerdicts(
  tx: Tx,
  scope: ReadScope,
  ids: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const verdicts = new Map<number, number>();
  for (const some of batches(ids)) {
    const rows = await tx.query<{ id: number; weight: number }>(
      `select v.id, v.weight
         from (select f.id, ${verdictOn("'folder'", "f.id", 2, "write")} as weight
                 from unnest($1::bigint[]) f (id) where $2::boolean is not null) v
        where v.weight is not null`,
      [some, ...scopeValues(scope)],
    );
    for (const { id, weight } of rows) verdicts.set(id, weight);
  }
  return verdicts;
}

/**
 * Whether one of the notebooks may not be deleted: those in `open` folders because their own policy denies it, those in
 * `closed` ones unless their own policy allows it. The caller's own may.
 */
export async function hasProtectedNote(
  tx: Tx,
  scope: ReadScope,
  { open, closed }: { open: readonly number[]; closed: readonly number[] },
): Promise<boolean> {
  const verdict = verdictOn("'note'", "n.id", 2, "delete");
  const isFound = async (ids: readonly number[], condition: string): Promise<boolean> => {
    for (const some of batches(ids)) {
      const rows = await tx.query(
        `select from note n
          where n.folder_id = any ($1) and $2::boolean is not null and n.owner_id is distinct from $3::bigint
            and ${condition} limit 1`,
        [some, ...scopeValues(scope)],
      );
      if (rows.length > 0) return true;
    }
    return false;
  };
  return (
    (await isFound(open, `n.has_policy and ${verdict} % 2 = 1`)) ||
    (await isFound(closed, `(not n.has_policy or coalesce(${verdict} % 2 = 1, true))`))
  );
}

/** Whether somebody else's dashboard lies in one of the folders. */
export async function hasDashboardOfOthers(
  tx: Tx,
  { membershipId }: ReadScope,
  closed: readonly number[],
): Promise<boolean> {
  for (const ids of batches(closed)) {
    const rows = await tx.query(
      "select from dashboard where folder_id = any ($1) and owner_id is distinct from $2::bigint limit 1",
      [ids, membershipId],
    );
    if (rows.length > 0) return true;
  }
  return false;
}

/**
 * Deletes the locked folders of one level, with their contents and policies. Notebooks go before their policies: a
 * policy that is set meanwhile is then seen, and set-policy locks in the same order.
 */
export async function deleteLevel(tx: Tx, level: readonly number[]): Promise<void> {
  for (const ids of batches(level)) {
    const notes = await tx.query<{ id: number }>(
      `with gone as (delete from note where folder_id = any ($1) returning id, has_policy)
       select id from gone where has_policy`,
      [ids],
    );
    if (notes.length > 0) {
      deletePolicies(
        tx,
        "note",
        notes.map(({ id }) => id),
      );
    }
    tx.send("delete from dashboard where folder_id = any ($1)", [ids]);
    deletePolicies(tx, "folder", ids);
    await tx.query("delete from folder where id = any ($1)", [ids]);
  }
}

function* batches(ids: readonly number[]): Generator<number[]> {
  for (let from = 0; from < ids.length; from += BATCH) yield ids.slice(from, from + BATCH);
}
