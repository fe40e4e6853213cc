import { Type } from "typebox";
import type { Caller } from "../access/caller.ts";
import { isPermitted } from "../access/permission.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import { PolicyElementReply } from "../access/policy/policy-changes.ts";
import { unknownFolder } from "../access/policy/unknown-object.ts";
import type { Queryable } from "../db/database.ts";
import { Id, Nullable, OneOf } from "../http/schema.ts";
import { invalid } from "../lib/fault.ts";
import type { ResolvedFolder } from "./find-by-location.ts";
import { FolderTypeField, LocationField, parseFolderType } from "./folder.ts";
import { folderInRequest, foldersNamed } from "./folder-in-request.ts";

/** The fields that name the folder or root whose policy is set or viewed. */
export const PolicyFolderFields = {
  location: Type.Optional({
    ...LocationField,
    description: "The full path of the folder; with name, that of its parent",
  }),
  name: Type.Optional(
    Type.String({ maxLength: 255, description: "The name of the folder, if location is that of its parent" }),
  ),
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

interface RequestContext {
  readonly reader: Queryable;
  readonly caller: Caller;
}

/** For `find`; the fields are not validated yet. */
export async function findPolicyFolder(
  context: RequestContext,
  fields: Readonly<Record<string, unknown>>,
): Promise<ResolvedFolder> {
  const { folder_id: id, location, name, type } = fields;
  if (id !== undefined || name === undefined || location === undefined) {
    return withHomeOwner(context.caller, await folderInRequest(context, fields));
  }
  const folderType = parseFolderType(type);
  const [found, another] = await foldersNamed(context, { location, name, type: folderType });
  if (found === undefined) throw unknownFolder(folderType, location, name);
  if (another !== undefined) {
    throw invalid(
      "name",
      `must be left out, and location must be the full path: both ${found.location} and ${another.location} exist`,
    );
  }
  return withHomeOwner(context.caller, found);
}

/**
 * Members with the permission to set policies are treated as owners of their home, so that they can undo a policy that
 * locks them out.
 */
function withHomeOwner(caller: Caller, found: ResolvedFolder): ResolvedFolder {
  const { folderId, homeId } = found.folderRef;
  const isOwnHome = folderId === null && homeId === caller.membershipId;
  if (!isOwnHome || !isPermitted(OBJECT_PERMISSIONS.folder.manage, caller)) return found;
  return { ...found, policyObject: { ...found.policyObject, ownerId: homeId } };
}
