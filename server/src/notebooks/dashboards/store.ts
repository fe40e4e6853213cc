import type { Queryable, Tx } from "../../db/database.ts";
import type { FolderIds } from "../store/list-readable.ts";

export interface DashboardRow extends FolderIds {
  id: number;
  name: string;
  /** Null: the notebook was deleted. */
  notebookId: number | null;
  /** The membership of its creator; null: the creator has left the account. */
  ownerId: number | null;
  userId: number | null;
  /** The size of its content. */
  bytes: number;
  createdAt: Date;
  /** When it was last published. */
  updatedAt: Date;
}

export const DASHBOARD_COLUMNS = `
  o.id, o.folder_id as "folderId", o.home_id as "homeId", o.name, o.note_id as "notebookId", o.owner_id as "ownerId",
  o.user_id as "userId", o.bytes, o.created_at as "createdAt", o.updated_at as "updatedAt"`;

export async function findDashboard(reader: Queryable, id: number): Promise<DashboardRow | undefined> {
  const [row] = await reader.query<DashboardRow>(`select ${DASHBOARD_COLUMNS} from dashboard o where o.id = $1`, [id]);
  return row;
}

export interface NewDashboard extends FolderIds {
  readonly name: string;
  readonly notebookId: number;
  readonly ownerId: number;
  readonly userId: number;
}

/** Undefined: the folder has a dashboard of this name. The caller must add the content in the same transaction. */
export async function insertDashboard(tx: Tx, dashboard: NewDashboard): Promise<DashboardRow | undefined> {
  const [row] = await tx.query<DashboardRow>(
    `insert into dashboard as o (folder_id, home_id, name, note_id, owner_id, user_id)
     values ($1, $2, $3, $4, $5, $6) on conflict do nothing returning ${DASHBOARD_COLUMNS}`,
    [dashboard.folderId, dashboard.homeId, dashboard.name, dashboard.notebookId, dashboard.ownerId, dashboard.userId],
  );
  return row;
}

/**
 * Prevents concurrent publications and the deletion of the dashboard. Lock the notebook before it and the content after
 * it, as deletions do, to avoid deadlocks. False: the dashboard has been deleted.
 */
export async function lockDashboard(tx: Tx, id: number): Promise<boolean> {
  return (await tx.query("select from dashboard where id = $1 for no key update", [id])).length > 0;
}

/** Replaces the content of the locked dashboard with that of the notebook. PostgreSQL copies it. */
export async function publishContent(tx: Tx, id: number, notebookId: number): Promise<DashboardRow> {
  tx.send(
    `insert into dashboard_content (dashboard_id, paragraphs, notebook)
     select $1, paragraphs, notebook from note_content where note_id = $2
     on conflict (dashboard_id) do update set paragraphs = excluded.paragraphs, notebook = excluded.notebook`,
    [id, notebookId],
  );
  const [row] = await tx.query<DashboardRow>(
    `update dashboard o set bytes = n.bytes, updated_at = now() from note n where o.id = $1 and n.id = $2
     returning ${DASHBOARD_COLUMNS}`,
    [id, notebookId],
  );
  if (row === undefined) throw new Error("the dashboard of this transaction does not exist");
  return row;
}

export async function deleteDashboard(tx: Tx, id: number): Promise<boolean> {
  return (await tx.query("delete from dashboard where id = $1 returning id", [id])).length > 0;
}
