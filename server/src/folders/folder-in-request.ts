import { Type } from "typebox";
import type { FolderType } from "../access/policy/policy.ts";
import { unknownFolder } from "../access/policy/unknown-object.ts";
import type { Queryable } from "../db/database.ts";
import { Id, MAX_INTEGER } from "../http/schema.ts";
import { invalid, notFound, type Fault } from "../lib/fault.ts";
import type { SoughtFolder } from "./contract.ts";
import { findByLocation, folderRefOf, policyObjectOf, type ResolvedFolder } from "./find-by-location.ts";
import { parseFolderType } from "./folder.ts";
import { findFolder, readLocations, type FolderRow } from "./store/folders.ts";

export const FolderParams = Type.Object({ folder_id: Id });

interface RequestContext {
  readonly reader: Queryable;
  readonly caller: SoughtFolder["member"];
}

/** The `find` of operations on `folders/<id>`. */
export async function folderInPath({ params, reader }: { params: { folder_id: number }; reader: Queryable }) {
  const folder = await findFolder(reader, params.folder_id);
  if (folder === undefined) throw notFound("Folder", params.folder_id);
  return { folder, policyObject: policyObjectOf(folder) };
}

/**
 * For `find`: the folder or root that a request names by `folder_id` or by `location` and `type`. The fields are not
 * validated yet.
 */
export async function folderInRequest(
  { reader, caller }: RequestContext,
  fields: Readonly<Record<string, unknown>>,
): Promise<ResolvedFolder> {
  const { folder_id: id, location, type } = fields;
  if (id === undefined && location === undefined) throw invalid("location", "is required unless folder_id is given");
  if (id !== undefined) return folderById(reader, id);
  const folderType = parseFolderType(type);
  const found = await findByLocation(reader, { type: folderType, location, member: caller });
  if (found === undefined) throw unknownFolder(folderType, location);
  return found;
}

/** For handlers: the folder was deleted after `folderInRequest` had found it. */
export function unknownInRequest({ folder_id: id, location, name, type }: NamedFolder): Fault {
  return id === undefined ? unknownFolder(type, location, name) : notFound("Folder", id);
}

/** The fields of a request that name a folder. With `name`, `location` is the parent's. */
interface NamedFolder {
  readonly folder_id?: number;
  readonly location?: string;
  readonly type: FolderType;
  readonly name?: string;
}

async function folderById(reader: Queryable, id: unknown): Promise<ResolvedFolder> {
  if (typeof id !== "number" || !Number.isInteger(id) || id < 1 || id > MAX_INTEGER) {
    throw invalid("folder_id", "must be the id of a folder");
  }
  const folder = await findFolder(reader, id);
  if (folder === undefined) throw notFound("Folder", id);
  return resolveFolder(reader, folder);
}

export async function resolveFolder(reader: Queryable, folder: FolderRow): Promise<ResolvedFolder> {
  const folderRef = folderRefOf(folder);
  const [location = ""] = await readLocations(reader, [folderRef]);
  return { folderRef, location, policyObject: policyObjectOf(folder), folder };
}

/** Refuses a request whose `folder_id` is not the folder that its other fields name. */
export async function checkAgreement(
  { reader, caller }: RequestContext,
  found: ResolvedFolder,
  given: NamedFolder,
): Promise<void> {
  if (given.folder_id === undefined) return;
  if (given.type !== found.folderRef.type) {
    throw invalid("type", `must be ${found.folderRef.type}, the type of the folder with this folder_id`);
  }
  if (given.location === undefined) return;
  const named = await foldersNamed({ reader, caller }, given);
  if (!named.some(({ folderRef }) => folderRef.folderId === found.folderRef.folderId)) {
    throw invalid("folder_id", "must be the id of the folder at location: leave one of them out");
  }
}

/**
 * The existing folders that a request can mean. Without `name`, `location` is the folder's own. With `name`, it is the
 * parent's, or the folder's own if it ends with `name`; both can exist, as `Common/a` and `Common/a/a` do.
 */
export async function foldersNamed(
  { reader, caller }: RequestContext,
  { location, type, name }: { location?: unknown; type: FolderType; name?: unknown },
): Promise<ResolvedFolder[]> {
  const find = (path: unknown) => findByLocation(reader, { type, location: path, member: caller });
  if (typeof location !== "string" || typeof name !== "string") return onlyFound([await find(location)]);
  const canBeOwn = location.endsWith(`/${name}`);
  const found = await Promise.all([canBeOwn ? find(location) : undefined, find(`${location}/${name}`)]);
  return onlyFound(found);
}

function onlyFound(folders: readonly (ResolvedFolder | undefined)[]): ResolvedFolder[] {
  return folders.filter((folder) => folder !== undefined);
}
