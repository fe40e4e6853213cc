import type { FolderType, Place } from "../../access/policy/policy.ts";
import type { Tx } from "../../db/database.ts";
import { isUniqueViolation } from "../../db/store-fault.ts";
import { COLUMNS, type FolderRow } from "./places.ts";

/**
 * Changes of the tree. Creations, moves and deletions first lock the tree, then folders from the top down. Moves lock
 * it exclusively, so that concurrent moves cannot put two folders into each other, and no folder gets too deep because
 * a folder above it moves. Renames change no place, so they only lock their folder.
 */
export async function lockTree(tx: Tx, type: FolderType, mode: "shared" | "exclusive"): Promise<void> {
  const lock = mode === "shared" ? "pg_advisory_xact_lock_shared" : "pg_advisory_xact_lock";
  await tx.query(`select ${lock}(hashtextextended('headgate folders ' || $1::text, current_account_id()))`, [type]);
}

export interface LockedFolder extends FolderRow {
  /** An upper bound of the number of levels below the folder. */
  height: number;
}

export async function lockFolder(
  tx: Tx,
  id: number,
  mode: "no key update" | "update",
): Promise<LockedFolder | undefined> {
  const [row] = await tx.query<LockedFolder>(`select ${COLUMNS}, f.height from folder f where f.id = $1 for ${mode}`, [
    id,
  ]);
  return row;
}

/** Whether the folder was moved after it was found. Its new place can have other policies. */
export function hasMoved(found: FolderRow, locked: FolderRow): boolean {
  return locked.parentId !== found.parentId || locked.homeId !== found.homeId;
}

/** The ids of the folder and those above it, the folder first. Empty: it does not exist. */
export async function readAncestors(tx: Tx, id: number): Promise<number[]> {
  const rows = await tx.query<{ id: number }>(
    "select folder_id as id from folder_chain(array[$1::bigint]) order by depth",
    [id],
  );
  return rows.map((row) => row.id);
}

/** Raises the heights of the folder and those above it for `levels` levels below the folder. */
export function raiseHeights(tx: Tx, id: number, levels: number): void {
  tx.send(
    `update folder f set height = g.height
       from (select f.id, c.depth + $2::integer as height
               from folder_chain(array[$1::bigint]) c join folder f on f.id = c.folder_id
              where f.height < c.depth + $2::integer
              order by c.depth desc for no key update of f) g
      where f.id = g.id`,
    [id, levels],
  );
}

/** Whether there are folders more than `levels` levels below the folder. */
export async function isDeeperThan(tx: Tx, id: number, levels: number): Promise<boolean> {
  const [row] = await tx.query<{ deeper: boolean }>(
    `with recursive walk as (
       select $1::bigint as id, 0 as level
       union all
       select f.id, w.level + 1 from walk w join folder f on f.parent_id = w.id where w.level <= $2::integer)
     select exists (select from walk where level > $2::integer) as deeper`,
    [id, levels],
  );
  return row?.deeper ?? false;
}

/** Undefined: the place already has a folder of this name. */
export async function insertFolder(
  tx: Tx,
  { type, folderId, homeId }: Place,
  name: string,
  ownerId: number,
): Promise<FolderRow | undefined> {
  const [row] = await tx.query<FolderRow>(
    `insert into folder as f (type, parent_id, home_id, name, owner_id) values ($1, $2, $3, $4, $5)
     on conflict do nothing returning ${COLUMNS}`,
    [type, folderId, homeId, name, ownerId],
  );
  return row;
}

/** Renames or moves the folder by changing one row. Undefined: the place already has a folder of this name. */
export async function updateFolder(
  tx: Tx,
  id: number,
  { name, parentId, homeId }: Pick<FolderRow, "name" | "parentId" | "homeId">,
): Promise<FolderRow | undefined> {
  try {
    const [row] = await tx.query<FolderRow>(
      `update folder f set name = $2, parent_id = $3, home_id = $4, updated_at = now() where f.id = $1
       returning ${COLUMNS}`,
      [id, name, parentId, homeId],
    );
    return row;
  } catch (error) {
    if (isUniqueViolation(error, "folder_place")) return undefined;
    throw error;
  }
}
