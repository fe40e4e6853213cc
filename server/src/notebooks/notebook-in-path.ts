import { Type } from "typebox";
import type { Admitted } from "../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import type { PolicyObject } from "../access/policy/policy.ts";
import type { Queryable, Tx } from "../db/database.ts";
import { Id } from "../http/schema.ts";
import { notFound, type Fault } from "../lib/fault.ts";
import { folderRefOf } from "./notebook.ts";
import { findNotebook, lockNotebook, type NotebookLock, type NotebookRow } from "./store/notebooks.ts";

export const NotebookParams = Type.Object({ note_id: Id });

export interface FoundNotebook extends NotebookRow {
  readonly policyObject: PolicyObject;
}

export function policyObjectOf(row: NotebookRow): PolicyObject {
  return { type: "note", id: row.id, ownerId: row.ownerId, folderRef: folderRefOf(row) };
}

/** The `find` of operations on `notebooks/<id>`. */
export async function notebookInPath({
  params,
  reader,
}: {
  params: { note_id: number };
  reader: Queryable;
}): Promise<FoundNotebook> {
  const row = await findNotebook(reader, params.note_id);
  if (row === undefined) throw notFound("Notebook", params.note_id);
  return { ...row, policyObject: policyObjectOf(row) };
}

/**
 * Locks a notebook for which the gate or the handler has authorised the caller. If it was moved after that, the caller
 * is authorised again, by the policies of its new folder. Throws `missing` if it was deleted.
 */
export async function lockAuthorisedNotebook(
  tx: Tx,
  found: NotebookRow,
  authorise: Admitted["authorise"],
  {
    action,
    mode,
    missing = () => notFound("Notebook", found.id),
  }: { action: "read" | "update" | "delete"; mode: NotebookLock; missing?: () => Fault },
): Promise<NotebookRow> {
  const locked = await lockNotebook(tx, found.id, mode);
  if (locked === undefined) throw missing();
  if (hasMoved(found, locked)) await authorise(policyObjectOf(locked), action, OBJECT_PERMISSIONS.note[action], tx);
  return locked;
}

export function hasMoved(found: NotebookRow, now: NotebookRow): boolean {
  return now.folderId !== found.folderId || now.homeId !== found.homeId;
}
