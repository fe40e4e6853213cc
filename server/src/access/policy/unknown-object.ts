import { notFound, type Fault } from "../../lib/fault.ts";
import type { Admitted } from "../operation.ts";
import { missingPermission, type PermissionRow } from "../permission.ts";
import type { FolderType, ObjectType } from "./policy.ts";

/**
 * The refusal if a further object of a request does not exist. Callers without the permission get the same refusal as
 * for an object that they may not use, so they do not learn what exists. Undefined: the caller has the permission.
 */
export function refusalOfUnknown(
  row: PermissionRow,
  { caller, deny }: Pick<Admitted, "caller" | "deny">,
): Fault | undefined {
  const refusal = missingPermission(row, caller);
  return refusal === undefined ? undefined : deny(refusal);
}

/** For messages and the reference. */
export const OBJECT_KINDS: Record<ObjectType, string> = {
  note: "Notebook",
  cluster: "Cluster",
  scheduler: "Schedule",
  environment: "Environment",
  folder: "Folder",
  dashboard: "Dashboard",
};

export function unknownObject(type: ObjectType, id: number): Fault {
  return notFound(OBJECT_KINDS[type], id);
}

/**
 * Names the tree, because the folder may exist in the other one. The search for a folder has already refused parts of a
 * location that are no text.
 */
export function unknownFolder(type: FolderType, ...location: readonly unknown[]): Fault {
  const parts = location.filter((part) => typeof part === "string");
  return notFound("Folder", parts.join("/"), WHERE[type]);
}

const WHERE: Record<FolderType, string> = {
  notes: " in the tree of notebooks (type notes); dashboards have a tree of their own",
  notebook_dashboards: " in the tree of dashboards (type notebook_dashboards); notebooks have a tree of their own",
};
