import type { Queryable } from "../db/database.ts";
import type { Folders } from "../folders/contract.ts";
import { notFound } from "../lib/fault.ts";
import type { SoughtDestination } from "./destination.ts";
import type { ListedPlace } from "./store/list-readable.ts";

/** The folder that a list is limited to; undefined: the list is of all folders. */
export async function placeToList(
  folders: Folders,
  reader: Queryable,
  { type, location, caller }: SoughtDestination,
): Promise<ListedPlace | undefined> {
  if (location === undefined) return undefined;
  const found = await folders.find(reader, { type, location, member: caller });
  if (found === undefined) throw notFound();
  return found.place;
}
