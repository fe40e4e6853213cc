/** The deletion of a folder with everything below it. The tree is locked, so no folder appears there meanwhile. */
import type { FolderType } from "../../access/policy/policy.ts";
import type { ReadScope } from "../../access/policy/read-scope.ts";
import { rowAccess } from "../../access/policy/row-access.ts";
import { deletePolicies } from "../../access/policy/store.ts";
import type { Tx } from "../../db/database.ts";
import type { FolderContents } from "../../notebooks/contract.ts";

export async function isEmpty(tx: Tx, id: number): Promise<boolean> {
  const [row] = await tx.query<{ empty: boolean }>(
    `select not (exists (select from folder where parent_id = $1) or exists (select from note where folder_id = $1)
                 or exists (select from dashboard where folder_id = $1)) as empty`,
    [id],
  );
  return row?.empty ?? false;
}

/** Concurrent creations of notebooks in the folders are then either finished, and their notebooks deleted, or refused. */
export async function lockFolders(tx: Tx, ids: readonly number[]): Promise<void> {
  await tx.query("select from folder where id = any ($1) order by id for update", [[...ids]]);
}

/** The number of notebooks and dashboards in the folders and their size. Stops counting soon after `limit`. */
export async function measureContents(
  tx: Tx,
  ids: readonly number[],
  limit: number,
): Promise<{ count: number; bytes: number }> {
  const [row] = await tx.query<{ count: number; bytes: string }>(
    `select count(*) as count, coalesce(sum(bytes), 0)::text as bytes
       from ((select bytes from note where folder_id = any ($1) limit $2)
             union all (select bytes from dashboard where folder_id = any ($1) limit $2)) content`,
    [[...ids], limit + 1],
  );
  return { count: row?.count ?? 0, bytes: Number(row?.bytes ?? 0) };
}

/** Whether one of the folders is protected from deletion by the caller. */
export async function hasProtectedFolder(
  tx: Tx,
  scope: ReadScope,
  tree: FolderType,
  ids: readonly number[],
): Promise<boolean> {
  const access = rowAccess(scope, { type: "folder", tree, action: "write" }, 2);
  const rows = await tx.query(
    `${access.with} select from folder f
      where f.id = any ($1) and not ${access.mayUse("f", access.inFolder("f"))} limit 1`,
    [[...ids], ...access.values],
  );
  return rows.length > 0;
}

/** Whether a notebook or dashboard in one of the folders is. */
export async function hasProtectedContent(
  tx: Tx,
  scope: ReadScope,
  { type, tree }: { type: "note" | "dashboard"; tree: FolderType },
  ids: readonly number[],
): Promise<boolean> {
  const access = rowAccess(scope, { type, tree, action: "delete" }, 2);
  const rows = await tx.query(
    `${access.with} select from ${type} o join folder f on f.id = o.folder_id
      where f.id = any ($1) and not ${access.mayUse("o", access.own("o.id"), access.inFolder("f"))} limit 1`,
    [[...ids], ...access.values],
  );
  return rows.length > 0;
}

/** Deletes the locked folders with their contents and policies. */
export async function deleteFolders(tx: Tx, ids: readonly number[], contents: FolderContents): Promise<void> {
  await contents.deleteFrom(tx, ids);
  deletePolicies(tx, "folder", ids);
  await tx.query("delete from folder where id = any ($1)", [[...ids]]);
}
