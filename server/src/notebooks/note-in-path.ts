import { Type } from "typebox";
import type { Admitted } from "../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import type { PolicyObject } from "../access/policy/policy.ts";
import type { Queryable, Tx } from "../db/database.ts";
import { Id } from "../http/schema.ts";
import { notFound, type Fault } from "../lib/fault.ts";
import { placeOf } from "./note.ts";
import { findNote, lockNote, type NoteLock, type NoteRow } from "./store/notes.ts";

/** `notebooks/<id>`. */
export const NoteParams = Type.Object({ note_id: Id });

export interface FoundNote extends NoteRow {
  readonly policyObject: PolicyObject;
}

export function policyObjectOf(row: NoteRow): PolicyObject {
  return { type: "note", id: row.id, ownerId: row.ownerId, place: placeOf(row) };
}

/** For `find`. */
export async function noteInPath({
  params,
  reader,
}: {
  params: { note_id: number };
  reader: Queryable;
}): Promise<FoundNote> {
  const row = await findNote(reader, params.note_id);
  if (row === undefined) throw notFound();
  return { ...row, policyObject: policyObjectOf(row) };
}

/**
 * Locks the notebook for a change of it, or only against its deletion while it is read. If it was moved after it had been
 * judged, the policies of its new place are asked too. `missing` is the refusal if it was deleted.
 */
export async function lockJudgedNote(
  tx: Tx,
  judged: NoteRow,
  authorise: Admitted["authorise"],
  { action, mode, missing = notFound }: { action: "read" | "update" | "delete"; mode: NoteLock; missing?: () => Fault },
): Promise<NoteRow> {
  const locked = await lockNote(tx, judged.id, mode);
  if (locked === undefined) throw missing();
  if (hasMoved(judged, locked)) await authorise(policyObjectOf(locked), action, OBJECT_PERMISSIONS.note[action], tx);
  return locked;
}

export function hasMoved(found: NoteRow, now: NoteRow): boolean {
  return now.folderId !== found.folderId || now.homeId !== found.homeId;
}
