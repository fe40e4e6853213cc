import type { Queryable, Tx } from "../../db/database.ts";
import type { PlaceIds } from "./list-readable.ts";

export interface NoteRow extends PlaceIds {
  id: number;
  name: string;
  noteType: string;
  label: string | null;
  /** The membership of its creator; null: the creator has left the account. */
  ownerId: number | null;
  userId: number | null;
  /** The size of its content. */
  bytes: number;
  createdAt: Date;
  updatedAt: Date;
}

export const NOTE_COLUMNS = `
  o.id, o.folder_id as "folderId", o.home_id as "homeId", o.name, o.note_type as "noteType", o.label,
  o.owner_id as "ownerId", o.user_id as "userId", o.bytes, o.created_at as "createdAt",
  o.updated_at as "updatedAt"`;

export async function findNote(reader: Queryable, id: number): Promise<NoteRow | undefined> {
  const [row] = await reader.query<NoteRow>(`select ${NOTE_COLUMNS} from note o where o.id = $1`, [id]);
  return row;
}

/** `no key update` is for changes, one at a time; `key share` only prevents the deletion of the notebook. */
export type NoteLock = "no key update" | "key share";

export async function lockNote(tx: Tx, id: number, mode: NoteLock): Promise<NoteRow | undefined> {
  const [row] = await tx.query<NoteRow>(`select ${NOTE_COLUMNS} from note o where o.id = $1 for ${mode}`, [id]);
  return row;
}

export interface NewNote extends PlaceIds {
  readonly name: string;
  readonly noteType: string;
  readonly label: string | null;
  readonly ownerId: number;
  readonly userId: number;
}

/** Undefined: the place has a notebook of this name. The caller must add the content in the same transaction. */
export async function insertNote(tx: Tx, note: NewNote): Promise<NoteRow | undefined> {
  const [row] = await tx.query<NoteRow>(
    `insert into note as o (folder_id, home_id, name, note_type, label, owner_id, user_id)
     values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing returning ${NOTE_COLUMNS}`,
    [note.folderId, note.homeId, note.name, note.noteType, note.label, note.ownerId, note.userId],
  );
  return row;
}

/**
 * Replies show `updated_at` in whole seconds, and clients send it back to detect other edits. So every edit moves it by
 * at least a second; after several edits within a second it is ahead of the clock.
 */
const NEXT_TIME = "greatest(date_trunc('second', now()), updated_at + interval '1 second')";

export interface NoteFields {
  readonly name: string;
  readonly noteType: string;
  readonly label: string | null;
}

/** Throws the violation of the index `note_place` if the name is taken. */
export async function updateNote(tx: Tx, id: number, { name, noteType, label }: NoteFields): Promise<NoteRow> {
  const [row] = await tx.query<NoteRow>(
    `update note o set name = $2, note_type = $3, label = $4, updated_at = ${NEXT_TIME} where o.id = $1
     returning ${NOTE_COLUMNS}`,
    [id, name, noteType, label],
  );
  if (row === undefined) throw new Error("the notebook of this transaction does not exist");
  return row;
}

/** Throws the violation of the index `note_place` if the place has a notebook of this name. */
export async function moveNote(tx: Tx, id: number, { folderId, homeId }: PlaceIds): Promise<NoteRow> {
  const [row] = await tx.query<NoteRow>(
    `update note o set folder_id = $2, home_id = $3, updated_at = ${NEXT_TIME} where o.id = $1
     returning ${NOTE_COLUMNS}`,
    [id, folderId, homeId],
  );
  if (row === undefined) throw new Error("the notebook of this transaction does not exist");
  return row;
}

export function deleteNote(tx: Tx, id: number): void {
  tx.send("delete from note where id = $1", [id]);
}

/** Also sets `has_policy`, which lists use to find notebooks with policies. False: the notebook has been deleted. */
export async function lockNoteForPolicy(tx: Tx, id: number, hasPolicy: boolean): Promise<boolean> {
  return (await tx.query("update note set has_policy = $2 where id = $1 returning id", [id, hasPolicy])).length > 0;
}
