import type { ReadScope } from "../access/policy/read-scope.ts";
import type { Queryable } from "../db/database.ts";
import type { Folders } from "../folders/contract.ts";
import { notFound } from "../lib/fault.ts";
import type { SoughtDestination } from "./destination.ts";
import type { ListedPlace } from "./store/list-readable.ts";

/**
 * The folder that a list is limited to; undefined: the list is of all folders. Null: there is no such folder, which looks
 * like one with nothing to read to callers whom only policies admit.
 */
export async function placeToList(
  folders: Folders,
  reader: Queryable,
  { type, location, caller }: SoughtDestination,
  { byTable }: ReadScope,
): Promise<ListedPlace | undefined | null> {
  if (location === undefined) return undefined;
  const found = await folders.find(reader, { type, location, member: caller });
  if (found === undefined && byTable) throw notFound();
  return found?.place ?? null;
}
