import type { Static } from "typebox";
import type { Caller } from "../access/caller.ts";
import type { AuditNote } from "../access/operation.ts";
import type { Tx } from "../db/database.ts";
import { isUniqueViolation } from "../db/store-fault.ts";
import type { Folders, FoundFolder } from "../folders/contract.ts";
import { lockDestination, nameTaken } from "./destination.ts";
import { notebookObject, type Notebook } from "./notebook.ts";
import { insertContent, type NewContent } from "./store/contents.ts";
import { insertNotebook, type NotebookFields, type NotebookRow } from "./store/notebooks.ts";

/** Passed to the steps below, which several operations share inside their transactions. */
export interface NotebookChange {
  readonly tx: Tx;
  readonly audit: AuditNote;
  readonly folders: Folders;
  readonly caller: Caller;
}

export async function addNotebook(
  change: NotebookChange,
  destination: FoundFolder,
  fields: NotebookFields,
  content: NewContent,
): Promise<Static<typeof Notebook>> {
  const row = await addNotebookWithoutContent(change, destination, fields);
  insertContent(change.tx, row.id, content);
  return notebookObject(row, content, destination.location);
}

/** The caller must add the content in the same transaction. */
export async function addNotebookWithoutContent(
  { tx, audit, folders, caller }: NotebookChange,
  destination: FoundFolder,
  fields: NotebookFields,
): Promise<NotebookRow> {
  await lockDestination(folders, tx, destination);
  const { folderId, homeId } = destination.folderRef;
  const row = await insertNotebook(tx, {
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

/** Translates the violation of the unique name into a refusal, for updates of name or folder. */
export async function refuseTakenName(
  update: Promise<NotebookRow>,
  name: string,
  location: string,
): Promise<NotebookRow> {
  try {
    return await update;
  } catch (error) {
    throw isUniqueViolation(error, "note_place") ? nameTaken(name, location, "notebook") : error;
  }
}
