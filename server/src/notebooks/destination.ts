/** Finds, authorises and locks the folder in which an operation creates an object, or into which it moves one. */
import type { Caller } from "../access/caller.ts";
import type { Admitted } from "../access/operation.ts";
import type { PermissionRow } from "../access/permission.ts";
import type { FolderType } from "../access/policy/policy.ts";
import { refusalOfUnknown, unknownFolder } from "../access/policy/unknown-object.ts";
import type { Queryable, Tx } from "../db/database.ts";
import type { Folders, FoundFolder } from "../folders/contract.ts";
import { Fault } from "../lib/fault.ts";

export const MAY_CREATE_NOTEBOOKS: PermissionRow = { groups: ["system-user", "system-admin"], role: "note:create" };

export interface SoughtDestination {
  readonly type: FolderType;
  /** As the request gives it, not validated. */
  readonly location: unknown;
  readonly caller: Caller;
}

/** For `find`: the gate then authorises writing in the folder. */
export async function findDestination(
  folders: Folders,
  reader: Queryable,
  { type, location, caller }: SoughtDestination,
): Promise<FoundFolder> {
  const found = await folders.find(reader, { type, location, member: caller });
  if (found === undefined) throw unknownFolder(type, location);
  return found;
}

/**
 * For handlers: finds the folder to which a notebook is moved or cloned, and throws unless the caller may write there.
 */
export async function findPermittedDestination(
  folders: Folders,
  { reader, caller, authorise, deny }: Pick<Admitted, "reader" | "caller" | "authorise" | "deny">,
  location: unknown,
): Promise<FoundFolder> {
  const found = await folders.find(reader, { type: "notes", location, member: caller });
  if (found === undefined)
    throw refusalOfUnknown(MAY_CREATE_NOTEBOOKS, { caller, deny }) ?? unknownFolder("notes", location);
  await authorise(found.policyObject, "write", MAY_CREATE_NOTEBOOKS);
  return found;
}

/** Prevents the deletion of the folder until the transaction that puts an object there ends. */
export async function lockDestination(folders: Folders, tx: Tx, { folderRef, location }: FoundFolder): Promise<void> {
  if (!(await folders.lock(tx, folderRef))) throw unknownFolder(folderRef.type, location);
}

export function nameTaken(name: string, location: string, kind: "notebook" | "dashboard"): Fault {
  return new Fault("conflict", `name is taken: ${location} has a ${kind} named ${name}. Choose another name.`);
}
