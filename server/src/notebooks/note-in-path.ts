import { Type } from "typebox";
import type { PolicyObject } from "../access/policy/policy.ts";
import type { Queryable } from "../db/database.ts";
import { Id } from "../http/schema.ts";
import { notFound } from "../lib/fault.ts";
import { placeOf } from "./note.ts";
import { findNote, type NoteRow } from "./store/notes.ts";

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
