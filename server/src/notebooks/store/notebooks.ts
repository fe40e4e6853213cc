import type { Queryable, Tx } from "../../db/database.ts";
import type { FolderIds } from "./list-readable.ts";

export interface NotebookRow extends FolderIds {
  id: number;
  name: string;
  notebookType: string;
  label: string | null;
  /** The membership of its creator; null: the creator has left the account. */
  ownerId: number | null;
  userId: number | null;
  /** The size of its content. */
  bytes: number;
  createdAt: Date;
  updatedAt: Date;
}

export const NOTEBOOK_COLUMNS = `
  o.id, o.folder_id as "folderId", o.home_id as "homeId", o.name, o.note_type as "notebookType", o.label,
  o.owner_id as "ownerId", o.user_id as "userId", o.bytes, o.created_at as "createdAt",
  o.updated_at as "updatedAt"`;

export async function findNotebook(reader: Queryable, id: number): Promise<NotebookRow | undefined> {
  const [row] = await reader.query<NotebookRow>(`select ${NOTEBOOK_COLUMNS} from note o where o.id = $1`, [id]);
  return row;
}

/** `no key update` is for changes, one at a time; `key share` only prevents the deletion of the notebook. */
export type NotebookLock = "no key update" | "key share";

export async function lockNotebook(tx: Tx, id: number, mode: NotebookLock): Promise<NotebookRow | undefined> {
  const [row] = await tx.query<NotebookRow>(`select ${NOTEBOOK_COLUMNS} from note o where o.id = $1 for ${mode}`, [id]);
  return row;
}

export interface NewNotebook extends FolderIds {
  readonly name: string;
  readonly notebookType: string;
  readonly label: string | null;
  readonly ownerId: number;
  readonly userId: number;
}

/** Undefined: the folder has a notebook of this name. The caller must add the content in the same transaction. */
export async function insertNotebook(tx: Tx, notebook: NewNotebook): Promise<NotebookRow | undefined> {
  const [row] = await tx.query<NotebookRow>(
    `insert into note as o (folder_id, home_id, name, note_type, label, owner_id, user_id)
     values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing returning ${NOTEBOOK_COLUMNS}`,
    [
      notebook.folderId,
      notebook.homeId,
      notebook.name,
      notebook.notebookType,
      notebook.label,
      notebook.ownerId,
      notebook.userId,
    ],
  );
  return row;
}

/**
 * Replies show `updated_at` in whole seconds, and clients send it back to detect other edits. So every edit moves it by
 * at least a second; after several edits within a second it is ahead of the clock.
 */
const NEXT_TIME = "greatest(date_trunc('second', now()), updated_at + interval '1 second')";

export interface NotebookFields {
  readonly name: string;
  readonly notebookType: string;
  readonly label: string | null;
}

/** Throws the violation of the index `note_place` if the name is taken. */
export async function updateNotebook(
  tx: Tx,
  id: number,
  { name, notebookType, label }: NotebookFields,
): Promise<NotebookRow> {
  const [row] = await tx.query<NotebookRow>(
    `update note o set name = $2, note_type = $3, label = $4, updated_at = ${NEXT_TIME} where o.id = $1
     returning ${NOTEBOOK_COLUMNS}`,
    [id, name, notebookType, label],
  );
  if (row === undefined) throw new Error("the notebook of this transaction does not exist");
  return row;
}

/** Throws the violation of the index `note_place` if the folder has a notebook of this name. */
export async function moveNotebook(tx: Tx, id: number, { folderId, homeId }: FolderIds): Promise<NotebookRow> {
  const [row] = await tx.query<NotebookRow>(
    `update note o set folder_id = $2, home_id = $3, updated_at = ${NEXT_TIME} where o.id = $1
     returning ${NOTEBOOK_COLUMNS}`,
    [id, folderId, homeId],
  );
  if (row === undefined) throw new Error("the notebook of this transaction does not exist");
  return row;
}

export function deleteNotebook(tx: Tx, id: number): void {
  tx.send("delete from note where id = $1", [id]);
}

/** Also sets `has_policy`, which lists of nodes of an earlier version use. False: the notebook has been deleted. */
export async function lockNotebookForPolicy(tx: Tx, id: number, hasPolicy: boolean): Promise<boolean> {
  return (await tx.query("update note set has_policy = $2 where id = $1 returning id", [id, hasPolicy])).length > 0;
}
