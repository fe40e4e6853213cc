import { scopeValues, verdictOn, type ReadScope } from "../../access/policy/read-scope.ts";
import { deletePolicies } from "../../access/policy/store.ts";
import type { Tx } from "../../db/database.ts";
import type { FolderContents } from "../../notebooks/contract.ts";

/**
 * The deletion of a folder with everything below it. Folders are locked level by level from the top. A concurrent
 * creation in them is therefore either finished, and deleted too, or refused. Then the folders are deleted from the
 * bottom up, with their contents.
 */
const FOLDERS_PER_STATEMENT = 5000;

/**
 * Always true: PostgreSQL refuses a parameter whose type it cannot infer, and these statements do not use `byTable`.
 */
const BY_TABLE_IS_GIVEN = "$2::boolean is not null";

export interface FolderBelow {
  id: number;
  parentId: number;
  ownerId: number | null;
}

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

/** The number of notebooks and dashboards in the folders and their size. Stops counting soon after `limit`. */
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

/** The verdicts of the folders' own policies on writing, for the caller, by folder id: even allows, odd denies. */
export async function readVerdictsOnWriting(
  tx: Tx,
  scope: ReadScope,
  ids: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const verdicts = new Map<number, number>();
  for (const some of batches(ids)) {
    const rows = await tx.query<{ id: number; weight: number }>(
      `select v.id, v.weight
         from (select f.id, ${verdictOn("'folder'", "f.id", 2, "write")} as weight
                 from unnest($1::bigint[]) f (id) where ${BY_TABLE_IS_GIVEN}) v
        where v.weight is not null`,
      [some, ...scopeValues(scope)],
    );
    for (const { id, weight } of rows) verdicts.set(id, weight);
  }
  return verdicts;
}

/**
 * Whether the folders have a notebook that the caller may not delete: in an `open` folder, one whose own policy denies
 * it; in a `closed` folder, one whose own policy does not allow it. Callers may always delete what they own.
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
          where n.folder_id = any ($1) and ${BY_TABLE_IS_GIVEN} and n.owner_id is distinct from $3::bigint
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

/** Whether one of the folders has a dashboard that the caller does not own. */
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

/** Deletes the locked folders of one level, with their contents and policies. */
export async function deleteLevel(tx: Tx, level: readonly number[], contents: FolderContents): Promise<void> {
  for (const ids of batches(level)) {
    await contents.deleteFrom(tx, ids);
    deletePolicies(tx, "folder", ids);
    await tx.query("delete from folder where id = any ($1)", [ids]);
  }
}

function* batches(ids: readonly number[]): Generator<number[]> {
  for (let from = 0; from < ids.length; from += FOLDERS_PER_STATEMENT) {
    yield ids.slice(from, from + FOLDERS_PER_STATEMENT);
  }
}
