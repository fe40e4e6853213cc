import type { Static } from "typebox";
import type { Caller } from "../access/caller.ts";
import type { AuditNote } from "../access/operation.ts";
import type { Tx } from "../db/database.ts";
import { isUniqueViolation } from "../db/store-fault.ts";
import type { Folders, FoundPlace } from "../folders/contract.ts";
import { lockDestination, nameTaken } from "./destination.ts";
import { noteObject, type Note } from "./note.ts";
import { insertContent, type NewContent } from "./store/contents.ts";
import { insertNote, type NoteFields, type NoteRow } from "./store/notes.ts";

/** Passed to the steps below, which several operations share inside their transactions. */
export interface NoteChange {
  readonly tx: Tx;
  readonly audit: AuditNote;
  readonly folders: Folders;
  readonly caller: Caller;
}

export async function addNote(
  change: NoteChange,
  destination: FoundPlace,
  fields: NoteFields,
  content: NewContent,
): Promise<Static<typeof Note>> {
  const row = await addNoteWithoutContent(change, destination, fields);
  insertContent(change.tx, row.id, content);
  return noteObject(row, content, destination.location);
}

/** The caller must add the content in the same transaction. */
export async function addNoteWithoutContent(
  { tx, audit, folders, caller }: NoteChange,
  destination: FoundPlace,
  fields: NoteFields,
): Promise<NoteRow> {
  await lockDestination(folders, tx, destination);
  const { folderId, homeId } = destination.place;
  const row = await insertNote(tx, {
    ...fields,
    folderId,
    homeId,
    ownerId: caller.membershipId,
    userId: caller.userId,
  });
  if (row === undefined) throw nameTaken(fields.name, destination.location, "notebook");
  audit.object = `note/${row.id}`;
  return row;
}

/** Translates the violation of the unique name into a refusal, for updates of name or place. */
export async function refuseTakenName(update: Promise<NoteRow>, name: string, location: string): Promise<NoteRow> {
  try {
    return await update;
  } catch (error) {
    throw isUniqueViolation(error, "note_place") ? nameTaken(name, location, "notebook") : error;
  }
}
