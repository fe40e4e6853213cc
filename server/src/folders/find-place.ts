import type { FolderType, Place, PolicyObject } from "../access/policy/policy.ts";
import type { Queryable } from "../db/database.ts";
import { invalid } from "../lib/fault.ts";
import type { Folders, FoundPlace, SoughtPlace } from "./contract.ts";
import { MAX_DEPTH, MAX_LOCATION_LENGTH, parseLocation, rootLocation } from "./location.ts";
import { findPlaceRow, lockFolderExists, readLocations, type FolderRow } from "./store/places.ts";
import { judgeFolders } from "./store/verdicts.ts";

/** A folder, or a root, which has no row. */
export interface FolderPlace extends FoundPlace {
  readonly folder: FolderRow | null;
  /** The number of folders from the root to this one, itself included. */
  readonly depth: number;
}

export async function findPlace(
  reader: Queryable,
  { type, location, field = "location", member }: SoughtPlace,
): Promise<FolderPlace | undefined> {
  if (location === undefined) return rootPlace(type, member.membershipId, member.email);
  if (typeof location !== "string") throw invalid(field, "must be a string");
  if (location.length > MAX_LOCATION_LENGTH) {
    throw invalid(field, `must have at most ${MAX_LOCATION_LENGTH} characters`);
  }
  const { readings } = parseLocation(field, location);
  const possible = readings.filter(({ names }) => names.length <= MAX_DEPTH);
  const row = await findPlaceRow(reader, type, { readings: possible });
  if (row === undefined) return undefined;
  const { folder, names, homeId, email } = row;
  if (folder === null) return rootPlace(type, homeId, email);
  return {
    place: placeOf(folder),
    location: [rootLocation(email), ...names].join("/"),
    policyObject: policyObjectOf(folder),
    folder,
    depth: names.length,
  };
}

function rootPlace(type: FolderType, homeId: number | null, email: string | null): FolderPlace {
  const place: Place = { type, folderId: null, homeId };
  const policyObject: PolicyObject = { type: "folder", id: null, ownerId: homeId, place };
  return { place, location: rootLocation(email), policyObject, folder: null, depth: 0 };
}

export function placeOf({ type, id }: Pick<FolderRow, "type" | "id">): Place {
  return { type, folderId: id, homeId: null };
}

export function policyObjectOf(folder: Pick<FolderRow, "type" | "id" | "ownerId">): PolicyObject {
  return { type: "folder", id: folder.id, ownerId: folder.ownerId, place: placeOf(folder) };
}

/** For other slices; `app` passes it to them. */
export const folders: Folders = {
  find: findPlace,
  lock: async (tx, { folderId }) => folderId === null || (await lockFolderExists(tx, folderId)),
  locations: readLocations,
  judge: judgeFolders,
};
