import type { Queryable, Tx } from "../../db/database.ts";
import type { ListedPlace } from "../store/list-readable.ts";
import type { NoteContent } from "../store/notes.ts";

export interface DashboardRow extends ListedPlace {
  id: number;
  name: string;
  /** Null: the notebook was deleted. */
  noteId: number | null;
  /** The membership of its creator; null if that has left the account. */
  ownerId: number | null;
  userId: number | null;
  createdAt: Date;
  /** When it was last published. */
  updatedAt: Date;
}

export const DASHBOARD_COLUMNS = `
  o.id, o.folder_id as "folderId", o.home_id as "homeId", o.name, o.note_id as "noteId", o.owner_id as "ownerId",
  o.user_id as "userId", o.created_at as "createdAt", o.updated_at as "updatedAt"`;

export async function findDashboard(reader: Queryable, id: number): Promise<DashboardRow | undefined> {
  const [row] = await reader.query<DashboardRow>(`select ${DASHBOARD_COLUMNS} from dashboard o where o.id = $1`, [id]);
  return row;
}

/** The row and its content as of the same moment. */
export async function readDashboard(reader: Queryable, id: number): Promise<(DashboardRow & NoteContent) | undefined> {
  const [row] = await reader.query<DashboardRow & NoteContent>(
    `select ${DASHBOARD_COLUMNS}, c.paragraphs, c.notebook
       from dashboard o join dashboard_content c on c.dashboard_id = o.id where o.id = $1`,
    [id],
  );
  return row;
}

export interface NewDashboard extends ListedPlace {
  readonly name: string;
  readonly noteId: number;
  readonly ownerId: number;
  readonly userId: number;
}

/** Undefined: the place has a dashboard of this name. Its content follows in the same transaction. */
export async function insertDashboard(tx: Tx, dashboard: NewDashboard): Promise<DashboardRow | undefined> {
  const [row] = await tx.query<DashboardRow>(
    `insert into dashboard as o (folder_id, home_id, name, note_id, owner_id, user_id)
     values ($1, $2, $3, $4, $5, $6) on conflict do nothing returning ${DASHBOARD_COLUMNS}`,
    [dashboard.folderId, dashboard.homeId, dashboard.name, dashboard.noteId, dashboard.ownerId, dashboard.userId],
  );
  return row;
}

/** Keeps the notebook from being deleted until the transaction ends. False: it has been deleted. */
export async function lockPublishedNote(tx: Tx, noteId: number): Promise<boolean> {
  return (await tx.query("select from note where id = $1 for key share", [noteId])).length > 0;
}

/** Replaces the content by that of the notebook. It does not pass through this process. */
export async function publishContent(tx: Tx, id: number, noteId: number): Promise<DashboardRow | undefined> {
  tx.send(
    `insert into dashboard_content (dashboard_id, paragraphs, notebook)
     select $1, paragraphs, notebook from note_content where note_id = $2
     on conflict (dashboard_id) do update set paragraphs = excluded.paragraphs, notebook = excluded.notebook`,
    [id, noteId],
  );
  const [row] = await tx.query<DashboardRow>(
    `update dashboard o set bytes = n.bytes, updated_at = now() from note n where o.id = $1 and n.id = $2
     returning ${DASHBOARD_COLUMNS}`,
    [id, noteId],
  );
  return row;
}

export async function deleteDashboard(tx: Tx, id: number): Promise<boolean> {
  return (await tx.query("delete from dashboard where id = $1 returning id", [id])).length > 0;
}
