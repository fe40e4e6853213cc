import { Type } from "typebox";
import type { Admitted } from "../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import type { PolicyObject } from "../access/policy/policy.ts";
import type { Queryable, Tx } from "../db/database.ts";
import { Id } from "../http/schema.ts";
import { notFound, type Fault } from "../lib/fault.ts";
import { placeOf } from "./note.ts";
import { findNote, lockNote, type NoteLock, type NoteRow } from "./store/notes.ts";

export const NoteParams = Type.Object({ note_id: Id });

export interface FoundNote extends NoteRow {
  readonly policyObject: PolicyObject;
}

export function policyObjectOf(row: NoteRow): PolicyObject {
  return { type: "note", id: row.id, ownerId: row.ownerId, place: placeOf(row) };
}

/** The `find` of operations on `notebooks/<id>`. */
export async function noteInPath({
  params,
  reader,
}: {
  params: { note_id: number };
  reader: Queryable;
}): Promise<FoundNote> {
  const row = await findNote(reader, params.note_id);
  if (row === undefined) throw notFound("Notebook", params.note_id);
  return { ...row, policyObject: policyObjectOf(row) };
}

/**
 * Locks a notebook that the gate or the handler has judged. If it was moved after that, it is judged again by the
 * policies of its new place. Throws `missing` if it was deleted.
 */
export async function lockJudgedNote(
  tx: Tx,
  judged: NoteRow,
  authorise: Admitted["authorise"],
  {
    action,
    mode,
    missing = () => notFound("Notebook", judged.id),
  }: { action: "read" | "update" | "delete"; mode: NoteLock; missing?: () => Fault },
): Promise<NoteRow> {
  const locked = await lockNote(tx, judged.id, mode);
  if (locked === undefined) throw missing();
  if (hasMoved(judged, locked)) await authorise(policyObjectOf(locked), action, OBJECT_PERMISSIONS.note[action], tx);
  return locked;
}

export function hasMoved(found: NoteRow, now: NoteRow): boolean {
  return now.folderId !== found.folderId || now.homeId !== found.homeId;
}
