import type { Queryable, Tx } from "../../db/database.ts";
import type { StoredNotebook } from "../ipynb/stored-notebook.ts";
import type { Paragraph } from "../paragraphs.ts";
import type { ListedPlace } from "./list-readable.ts";

export interface NoteRow extends ListedPlace {
  id: number;
  name: string;
  noteType: string;
  label: string | null;
  /** The membership of its creator; null if that has left the account. */
  ownerId: number | null;
  userId: number | null;
  createdAt: Date;
  updatedAt: Date;
}

export interface NoteContent {
  readonly paragraphs: readonly Paragraph[];
  /** Null: the notebook was not imported. */
  readonly notebook: StoredNotebook | null;
}

export const NOTE_COLUMNS = `
  o.id, o.folder_id as "folderId", o.home_id as "homeId", o.name, o.note_type as "noteType", o.label,
  o.owner_id as "ownerId", o.user_id as "userId", o.created_at as "createdAt", o.updated_at as "updatedAt"`;

export async function findNote(reader: Queryable, id: number): Promise<NoteRow | undefined> {
  const [row] = await reader.query<NoteRow>(`select ${NOTE_COLUMNS} from note o where o.id = $1`, [id]);
  return row;
}

/** The row and its texts as of the same moment, without what an import has kept. */
export async function readNoteTexts(
  reader: Queryable,
  id: number,
): Promise<(NoteRow & Pick<NoteContent, "paragraphs">) | undefined> {
  const [row] = await reader.query<NoteRow & Pick<NoteContent, "paragraphs">>(
    `select ${NOTE_COLUMNS}, c.paragraphs from note o join note_content c on c.note_id = o.id where o.id = $1`,
    [id],
  );
  return row;
}

export async function readNoteContent(reader: Queryable, id: number): Promise<NoteContent | undefined> {
  const [row] = await reader.query<NoteContent>("select paragraphs, notebook from note_content where note_id = $1", [
    id,
  ]);
  return row;
}

/** Serialises changes to the notebook, and excludes its deletion meanwhile. */
export async function lockNote(tx: Tx, id: number): Promise<NoteRow | undefined> {
  const [row] = await tx.query<NoteRow>(`select ${NOTE_COLUMNS} from note o where o.id = $1 for no key update`, [id]);
  return row;
}

export interface NewNote extends ListedPlace {
  readonly name: string;
  readonly noteType: string;
  readonly label: string | null;
  readonly ownerId: number;
  readonly userId: number;
}

/** Undefined: the place has a notebook of this name. Its content follows in the same transaction. */
export async function insertNote(tx: Tx, note: NewNote): Promise<NoteRow | undefined> {
  const [row] = await tx.query<NoteRow>(
    `insert into note as o (folder_id, home_id, name, note_type, label, owner_id, user_id)
     values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing returning ${NOTE_COLUMNS}`,
    [note.folderId, note.homeId, note.name, note.noteType, note.label, note.ownerId, note.userId],
  );
  return row;
}

export function insertContent(tx: Tx, id: number, { paragraphs, notebook }: NoteContent): void {
  const values = contentValues(paragraphs, notebook);
  tx.send("insert into note_content (note_id, paragraphs, notebook) values ($1, $2, $3)", [id, ...values]);
  sendBytes(tx, id, values);
}

export function replaceContent(tx: Tx, id: number, { paragraphs, notebook }: NoteContent): void {
  const values = contentValues(paragraphs, notebook);
  tx.send("update note_content set paragraphs = $2, notebook = $3 where note_id = $1", [id, ...values]);
  sendBytes(tx, id, values);
}

function contentValues(
  paragraphs: readonly Paragraph[],
  notebook: StoredNotebook | null,
): readonly [string, string | null] {
  return [JSON.stringify(paragraphs), notebook === null ? null : JSON.stringify(notebook)];
}

function sendBytes(tx: Tx, id: number, [texts, rest]: readonly [string, string | null]): void {
  const bytes = Buffer.byteLength(texts) + Buffer.byteLength(rest ?? "");
  tx.send("update note set bytes = $2 where id = $1", [id, bytes]);
}

/** Outputs do not pass through this process: they can have tens of megabytes. Undefined: the original was deleted. */
export async function copyContent(tx: Tx, from: number, to: number): Promise<readonly Paragraph[] | undefined> {
  const [row] = await tx.query<Pick<NoteContent, "paragraphs">>(
    `insert into note_content (note_id, paragraphs, notebook)
     select $2, paragraphs, notebook from note_content where note_id = $1 returning paragraphs`,
    [from, to],
  );
  tx.send("update note set bytes = (select o.bytes from note o where o.id = $1) where id = $2", [from, to]);
  return row?.paragraphs;
}

/**
 * The time of each edit is unique although it shows seconds only, so that it tells edits apart. It runs ahead of the
 * clock after several edits within a second.
 */
const NEXT_TIME = "greatest(date_trunc('second', now()), updated_at + interval '1 second')";

export interface NoteFields {
  readonly name: string;
  readonly noteType: string;
  readonly label: string | null;
}

/** Throws the violation of `note_place` if the name is taken. */
export async function updateNote(tx: Tx, id: number, { name, noteType, label }: NoteFields): Promise<NoteRow> {
  const [row] = await tx.query<NoteRow>(
    `update note o set name = $2, note_type = $3, label = $4, updated_at = ${NEXT_TIME} where o.id = $1
     returning ${NOTE_COLUMNS}`,
    [id, name, noteType, label],
  );
  if (row === undefined) throw new Error("the notebook of this transaction does not exist");
  return row;
}

/** Throws the violation of `note_place` if the place has a notebook of this name. */
export async function moveNote(tx: Tx, id: number, { folderId, homeId }: ListedPlace): Promise<NoteRow> {
  const [row] = await tx.query<NoteRow>(
    `update note o set folder_id = $2, home_id = $3, updated_at = ${NEXT_TIME} where o.id = $1
     returning ${NOTE_COLUMNS}`,
    [id, folderId, homeId],
  );
  if (row === undefined) throw new Error("the notebook of this transaction does not exist");
  return row;
}

/** Its dashboards stay. False: it has been deleted already. */
export async function deleteNote(tx: Tx, id: number): Promise<boolean> {
  return (await tx.query("delete from note where id = $1 returning id", [id])).length > 0;
}

/** Lists find notebooks with policies by an index of their own. False: it has been deleted. */
export async function lockNoteForPolicy(tx: Tx, id: number, hasPolicy: boolean): Promise<boolean> {
  return (await tx.query("update note set has_policy = $2 where id = $1 returning id", [id, hasPolicy])).length > 0;
}
