import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import type { PermissionRow } from "../access/permission.ts";
import { Id } from "../http/schema.ts";
import { checkLocationName, LocationName } from "../lib/location-name.ts";
import { policyObjectOf } from "./find-by-location.ts";
import { checkAgreement, resolveFolder, folderInRequest, unknownInRequest } from "./folder-in-request.ts";
import { FolderReply, folderReply, FolderTypeField, LocationField, nameTaken, rootUnchangeable } from "./folder.ts";
import { hasMoved, lockFolder, renameFolder as updateName } from "./store/tree.ts";

/** §5: renaming needs the permission to create commands, as setting a policy does, not `folder:write`. */
const MAY_RENAME: PermissionRow = { groups: ["system-user", "system-admin"], role: "command:create" };

/** §4.11. */
export const renameFolder = operation({
  id: "folder_rename",
  summary: "Rename a folder",
  description:
    "`name` is the new name, without a path. `folder_id` or `location` names the folder; if you give both, they must " +
    "agree. The locations of everything below change too. Needs write on the folder. Refused if " +
    "read on it is denied.",
  tag: "Folders",
  method: "PUT",
  paths: { "v1.2": "/folders/rename" },
  access: { permission: MAY_RENAME, object: { type: "folder", action: "move" } },
  body: Type.Object({
    name: { ...LocationName, description: "The new name" },
    folder_id: Type.Optional(Id),
    location: Type.Optional(LocationField),
    type: FolderTypeField,
  }),
  example: { body: { location: "Common/reports", name: "archive", type: "notes" } },
  reply: FolderReply,
  find: ({ given, reader, caller }) => folderInRequest({ reader, caller }, given()),

  async handle({ found, body, reader, caller, authorise, change }) {
    const name = checkLocationName("name", body.name);
    const { name: _newName, ...named } = body;
    await checkAgreement({ reader, caller }, found, named);
    const { folder } = found;
    if (folder === null) throw rootUnchangeable("location");
    return change(async (tx, audit) => {
      const locked = await lockFolder(tx, folder.id, "no key update");
      if (locked === undefined) throw unknownInRequest(named);
      if (hasMoved(folder, locked)) await authorise(policyObjectOf(locked), "move", MAY_RENAME, tx);
      const before = await resolveFolder(tx, locked);
      const renamed = await updateName(tx, locked.id, name);
      if (renamed === undefined) throw nameTaken(name);
      const after = `${before.location.slice(0, before.location.length - locked.name.length)}${name}`;
      audit.object = `folder/${locked.id}`;
      audit.detail = { before: { location: before.location }, after: { location: after } };
      return folderReply(renamed, after);
    });
  },
});
