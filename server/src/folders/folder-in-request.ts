import { Type } from "typebox";
import type { FolderType } from "../access/policy/policy.ts";
import type { Queryable } from "../db/database.ts";
import { Id, MAX_INTEGER } from "../http/schema.ts";
import { invalid, notFound } from "../lib/fault.ts";
import type { SoughtPlace } from "./contract.ts";
import { findPlace, placeOf, policyObjectOf, type FolderPlace } from "./find-place.ts";
import { typeGiven } from "./folder.ts";
import { findFolder, readLocations, type FolderRow } from "./store/places.ts";

/** `folders/<id>`. */
export const FolderParams = Type.Object({ folder_id: Id });

interface Asking {
  readonly reader: Queryable;
  readonly caller: SoughtPlace["member"];
}

/** For `find`. */
export async function folderInPath({ params, reader }: { params: { folder_id: number }; reader: Queryable }) {
  const folder = await findFolder(reader, params.folder_id);
  if (folder === undefined) throw notFound();
  return { folder, policyObject: policyObjectOf(folder) };
}

/** The folder or root that a request names by `folder_id` or by `location` and `type`; for `find`. */
export async function folderInRequest(
  { reader, caller }: Asking,
  fields: Readonly<Record<string, unknown>>,
): Promise<FolderPlace> {
  const { folder_id: id, location, type } = fields;
  if (id === undefined && location === undefined) throw invalid("location", "or folder_id is required");
  const found =
    id === undefined
      ? await findPlace(reader, { type: typeGiven(type), location, member: caller })
      : await placeById(reader, id);
  if (found === undefined) throw notFound();
  return found;
}

async function placeById(reader: Queryable, id: unknown): Promise<FolderPlace | undefined> {
  if (typeof id !== "number" || !Number.isInteger(id) || id < 1 || id > MAX_INTEGER) {
    throw invalid("folder_id", "must be the id of a folder");
  }
  const folder = await findFolder(reader, id);
  return folder === undefined ? undefined : describePlace(reader, folder);
}

export async function describePlace(reader: Queryable, folder: FolderRow): Promise<FolderPlace> {
  const place = placeOf(folder);
  const [location = ""] = await readLocations(reader, [place]);
  return { place, location, policyObject: policyObjectOf(folder), folder };
}

/** A request that names the folder twice must mean the same folder. */
export async function checkAgreement(
  { reader, caller }: Asking,
  found: FolderPlace,
  given: { readonly folder_id?: number; readonly location?: string; readonly type: FolderType; readonly name?: string },
): Promise<void> {
  if (given.folder_id === undefined) return;
  if (given.type !== found.place.type) {
    throw invalid("type", `must be ${found.place.type}, the type of the folder with this folder_id`);
  }
  if (given.location === undefined) return;
  const named = await placesNamed({ reader, caller }, given);
  if (!named.some(({ place }) => place.folderId === found.place.folderId)) {
    throw invalid("folder_id", "must be the id of the folder at location: leave one of them out");
  }
}

/**
 * The places that `location`, or `location` and `name`, can mean: the location is the folder's own, or that of its
 * parent if the name is not its last part. Both can exist if the names are the same.
 */
export async function placesNamed(
  { reader, caller }: Asking,
  { location, type, name }: { location?: unknown; type: FolderType; name?: unknown },
): Promise<FolderPlace[]> {
  const find = (each: unknown) => findPlace(reader, { type, location: each, member: caller });
  if (typeof location !== "string" || typeof name !== "string") return present([await find(location)]);
  const isOwn = location.endsWith(`/${name}`);
  const found = await Promise.all([isOwn ? find(location) : undefined, find(`${location}/${name}`)]);
  return present(found);
}

function present(places: readonly (FolderPlace | undefined)[]): FolderPlace[] {
  return places.filter((each) => each !== undefined);
}
