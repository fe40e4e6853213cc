import type { ObjectFinder } from "../access/policy/object-finder.ts";
import type { FolderType, FolderRef, PolicyObject } from "../access/policy/policy.ts";
import type { Queryable } from "../db/database.ts";
import { invalid } from "../lib/fault.ts";
import { MAX_LOCATION_LENGTH } from "../lib/location-name.ts";
import type { Folders, FoundFolder, SoughtFolder } from "./contract.ts";
import { MAX_DEPTH, parseLocation, rootLocation } from "./location.ts";
import { findFolder, findRowByLocation, lockFolderExists, readLocations, type FolderRow } from "./store/folders.ts";

/** A folder; or a root, which has no row. */
export interface ResolvedFolder extends FoundFolder {
  readonly folder: FolderRow | null;
}

export async function findByLocation(
  reader: Queryable,
  { type, location, field = "location", member }: SoughtFolder,
): Promise<ResolvedFolder | undefined> {
  if (location === undefined) return rootFolder(type, member.membershipId, member.email);
  if (typeof location !== "string") throw invalid(field, "must be a string");
  if (location.length > MAX_LOCATION_LENGTH) {
    throw invalid(field, `must have at most ${MAX_LOCATION_LENGTH} characters`);
  }
  const parsed = parseLocation(field, location, member.email);
  if (parsed.names.length > MAX_DEPTH) return undefined;
  const row = await findRowByLocation(reader, type, parsed);
  if (row === undefined) return undefined;
  const { folder, homeId, email } = row;
  if (folder === null) return rootFolder(type, homeId, email);
  return {
    folderRef: folderRefOf(folder),
    location: [rootLocation(email), ...parsed.names].join("/"),
    policyObject: policyObjectOf(folder),
    folder,
  };
}

function rootFolder(type: FolderType, homeId: number | null, email: string | null): ResolvedFolder {
  const folderRef: FolderRef = { type, folderId: null, homeId };
  // Members do not own their homes: their permission decides what they may do there, as in other folders.
  const policyObject: PolicyObject = { type: "folder", id: null, ownerId: null, folderRef };
  return { folderRef, location: rootLocation(email), policyObject, folder: null };
}

export function folderRefOf({ type, id }: Pick<FolderRow, "type" | "id">): FolderRef {
  return { type, folderId: id, homeId: null };
}

export function policyObjectOf(folder: Pick<FolderRow, "type" | "id" | "ownerId">): PolicyObject {
  return { type: "folder", id: folder.id, ownerId: folder.ownerId, folderRef: folderRefOf(folder) };
}

/** Implements the interface for other slices; compose/services.ts passes it to them. */
export const folders: Folders = {
  find: findByLocation,
  lock: async (tx, { folderId }) => folderId === null || (await lockFolderExists(tx, folderId)),
  locations: readLocations,
};

/** For `access/explain`. The policies of folders are set by folders/policy, not by object_policy. */
export const folderFinder: ObjectFinder = {
  async find(reader, id) {
    const folder = await findFolder(reader, id);
    return folder === undefined ? undefined : policyObjectOf(folder);
  },
  lockForPolicy: lockFolderExists,
};
