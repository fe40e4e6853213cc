import { Type } from "typebox";
import type { Caller } from "../access/caller.ts";
import { isPermitted } from "../access/permission.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import { PolicyElementReply } from "../access/policy/policy-changes.ts";
import type { Queryable } from "../db/database.ts";
import { Id, Nullable, OneOf } from "../http/schema.ts";
import { invalid, notFound } from "../lib/fault.ts";
import type { FolderPlace } from "./find-place.ts";
import { FolderTypeField, LocationField, typeGiven } from "./folder.ts";
import { folderInRequest, placesNamed } from "./folder-in-request.ts";

/** The folder or root whose policy is set or viewed. */
export const PolicyFolderFields = {
  location: Type.Optional({ ...LocationField, description: "The full path of the folder, or of its parent with name" }),
  name: Type.Optional(Type.String({ maxLength: 255, description: "The folder's name, if location is its parent" })),
  folder_id: Type.Optional(Id),
  type: FolderTypeField,
  source_type: Type.Optional(OneOf(["Folder", "folder"])),
};

export const FolderPolicyReply = Type.Object({
  status: Type.Literal("success"),
  source_id: Nullable(Type.Integer({ description: "The id of the folder; null: a root" })),
  source_type: Type.Literal("Folder"),
  location: Type.String(),
  type: FolderTypeField,
  policy: Type.Array(PolicyElementReply),
});

interface Asking {
  readonly reader: Queryable;
  readonly caller: Caller;
}

/** For `find`. */
export async function policyFolder(asking: Asking, fields: Readonly<Record<string, unknown>>): Promise<FolderPlace> {
  const { folder_id: id, location, name, type } = fields;
  if (id !== undefined || name === undefined || location === undefined) {
    return withHomeOwner(asking.caller, await folderInRequest(asking, fields));
  }
  const [found, another] = await placesNamed(asking, { location, name, type: typeGiven(type) });
  if (found === undefined) throw notFound();
  if (another !== undefined) {
    throw invalid("name", `must be left out: both ${found.location} and ${another.location} exist`);
  }
  return withHomeOwner(asking.caller, found);
}

/** Members always manage the policy of their own home: one that locks them out must not be for ever. */
function withHomeOwner(caller: Caller, found: FolderPlace): FolderPlace {
  const { folderId, homeId } = found.place;
  const isOwnHome = folderId === null && homeId === caller.membershipId;
  if (!isOwnHome || !isPermitted(OBJECT_PERMISSIONS.folder.manage, caller)) return found;
  return { ...found, policyObject: { ...found.policyObject, ownerId: homeId } };
}
