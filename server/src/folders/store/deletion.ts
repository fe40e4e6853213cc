import { scopeValues, verdictOn, type ReadScope } from "../../access/policy/read-scope.ts";
import { deletePolicies } from "../../access/policy/store.ts";
import type { Tx } from "../../db/database.ts";

/**
 * The deletion of a folder with everything below it. Folders are locked level by level from the top, so whatever is
 * created there meanwhile is either seen or refused. Then they are deleted from the bottom up, with what they contain.
 */
const BATCH = 5000;

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
export async function lockBelow(tx: Tx, id: number, limit: number): Promise<number[][] | undefined> {
  const levels: number[][] = [];
  let count = 0;
  for (let above = [id]; above.length > 0;) {
    const level: number[] = [];
    for (const parents of batches(above)) {
      const rows = await tx.query<{ id: number }>(
        "select id from folder where parent_id = any ($1) order by id limit $2 for update",
        [parents, limit - count + 1],
      );
      for (const row of rows) level.push(row.id);
      count += rows.length;
      if (count > limit) return undefined;
    }
    if (level.length > 0) levels.push(level);
    above = level;
  }
  return levels;
}

/** The number of notebooks and dashboards in the folders, or a little more than `limit`. */
export async function countContents(tx: Tx, ids: readonly number[], limit: number): Promise<number> {
  let count = 0;
  for (const some of batches(ids)) {
    const [row] = await tx.query<{ contents: number }>(
      `select (select count(*) from (select from note where folder_id = any ($1) limit $2) n)
            + (select count(*) from (select from dashboard where folder_id = any ($1) limit $2) d) as contents`,
      [some, limit + 1],
    );
    count += row?.contents ?? 0;
    if (count > limit) break;
  }
  return count;
}

/** Whether the own policy of one of the folders below, or of a notebook in any of the folders, denies it to the caller. */
export async function isDeletionDenied(
  tx: Tx,
  scope: ReadScope,
  below: readonly number[],
  all: readonly number[],
): Promise<boolean> {
  for (const ids of batches(below)) {
    const denied = await tx.query(
      `select from folder f
        where f.id = any ($1) and $2::boolean is not null and f.owner_id is distinct from $3::bigint
          and ${verdictOn("'folder'", "f.id", 2, "write")} % 2 = 1 limit 1`,
      [ids, ...scopeValues(scope)],
    );
    if (denied.length > 0) return true;
  }
  for (const ids of batches(all)) {
    const denied = await tx.query(
      `select from note n
        where n.folder_id = any ($1) and n.has_policy and $2::boolean is not null
          and n.owner_id is distinct from $3::bigint and ${verdictOn("'note'", "n.id", 2, "delete")} % 2 = 1 limit 1`,
      [ids, ...scopeValues(scope)],
    );
    if (denied.length > 0) return true;
  }
  return false;
}

/** Deletes the locked folders of one level, with their contents and policies. */
export async function deleteLevel(tx: Tx, level: readonly number[]): Promise<void> {
  for (const ids of batches(level)) {
    tx.send(
      `delete from object_policy where source_type = 'note'
          and source_id in (select id from note where folder_id = any ($1) and has_policy)`,
      [ids],
    );
    tx.send("delete from note where folder_id = any ($1)", [ids]);
    tx.send("delete from dashboard where folder_id = any ($1)", [ids]);
    deletePolicies(tx, "folder", ids);
    await tx.query("delete from folder where id = any ($1)", [ids]);
  }
}

function* batches(ids: readonly number[]): Generator<number[]> {
  for (let from = 0; from < ids.length; from += BATCH) yield ids.slice(from, from + BATCH);
}
