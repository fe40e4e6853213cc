import type { ReadScope } from "../access/policy/read-scope.ts";
import { unknownFolder } from "../access/policy/unknown-object.ts";
import type { Queryable } from "../db/database.ts";
import type { Folders } from "../folders/contract.ts";
import type { SoughtDestination } from "./destination.ts";
import type { FolderIds } from "./store/list-readable.ts";

/**
 * The folder that a list is limited to. Undefined: the list is of all folders. Null: there is no such folder; callers
 * whom only policies admit then get an empty list, so that they do not learn which folders exist.
 */
export async function folderToList(
  folders: Folders,
  reader: Queryable,
  { type, location, caller }: SoughtDestination,
  { byPermission }: ReadScope,
): Promise<FolderIds | undefined | null> {
  if (location === undefined) return undefined;
  const found = await folders.find(reader, { type, location, member: caller });
  if (found === undefined && byPermission) throw unknownFolder(type, location);
  return found?.folderRef ?? null;
}
