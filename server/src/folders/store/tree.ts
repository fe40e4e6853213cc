/**
 * Changes of the tree. They first lock the tree, then folders, then contents. Moves and recursive deletions lock the
 * tree exclusively, so that what is above and below their folders does not change meanwhile: concurrent moves cannot
 * put two folders into each other, and no folder gets too deep. Renames move no folder, so they only lock their folder.
 */
import type { FolderType, FolderRef } from "../../access/policy/policy.ts";
import type { Tx } from "../../db/database.ts";
import { isUniqueViolation } from "../../db/store-fault.ts";
import { COLUMNS, type FolderRow } from "./folders.ts";

export async function lockTree(tx: Tx, type: FolderType, mode: "shared" | "exclusive"): Promise<void> {
  const lock = mode === "shared" ? "pg_advisory_xact_lock_shared" : "pg_advisory_xact_lock";
  await tx.query(`select ${lock}(hashtextextended('headgate folders ' || $1::text, current_account_id()))`, [type]);
}

export async function lockFolder(tx: Tx, id: number, mode: "no key update" | "update"): Promise<FolderRow | undefined> {
  const [row] = await tx.query<FolderRow>(`select ${COLUMNS} from folder f where f.id = $1 for ${mode}`, [id]);
  return row;
}

/** Whether the folder or one above it was moved after it was found. The folders now above it can have other policies. */
export function hasMoved(found: FolderRow, locked: FolderRow): boolean {
  return locked.rootHome !== found.rootHome || locked.ancestors.join() !== found.ancestors.join();
}

/** The folders below the folder, and how many levels they have. Undefined: there are more than `limit`. */
export async function readBelow(
  tx: Tx,
  id: number,
  limit: number,
): Promise<{ ids: number[]; levels: number } | undefined> {
  const rows = await tx.query<{ id: number; level: number }>(
    `with recursive below as (
       select f.id, 1 as level from folder f where f.parent_id = $1
       union all
       select f.id, b.level + 1 from below b join folder f on f.parent_id = b.id)
     select id, level from below limit $2`,
    [id, limit + 1],
  );
  if (rows.length > limit) return undefined;
  return { ids: rows.map((row) => row.id), levels: rows.reduce((levels, { level }) => Math.max(levels, level), 0) };
}

/** Undefined: the parent already has a folder of this name. */
export async function insertFolder(
  tx: Tx,
  { type, folderId, homeId }: FolderRef,
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

/** Undefined: the parent already has a folder of this name. */
export async function renameFolder(tx: Tx, id: number, name: string): Promise<FolderRow | undefined> {
  return updateFolder(tx, "name = $2", [id, name]);
}

/** Triggers change the ancestors of the folder and of everything below. Undefined: as for a rename. */
export async function moveFolder(tx: Tx, id: number, { folderId, homeId }: FolderRef): Promise<FolderRow | undefined> {
  return updateFolder(tx, "parent_id = $2, home_id = $3", [id, folderId, homeId]);
}

async function updateFolder(tx: Tx, changes: string, values: readonly unknown[]): Promise<FolderRow | undefined> {
  try {
    const [row] = await tx.query<FolderRow>(
      `update folder f set ${changes}, updated_at = now() where f.id = $1 returning ${COLUMNS}`,
      values,
    );
    return row;
  } catch (error) {
    if (isUniqueViolation(error, "folder_place")) return undefined;
    throw error;
  }
}
