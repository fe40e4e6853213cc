import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import { unknownFolder } from "../access/policy/unknown-object.ts";
import { invalid } from "../lib/fault.ts";
import { checkLocationName, LocationName } from "../lib/location-name.ts";
import { findByLocation } from "./find-by-location.ts";
import { FolderReply, folderReply, FolderTypeField, LocationField, nameTaken, parseFolderType } from "./folder.ts";
import { MAX_DEPTH } from "./location.ts";
import { lockParent } from "./store/folders.ts";
import { insertFolder, lockTree } from "./store/tree.ts";

export const createFolder = operation({
  id: "folder_create",
  summary: "Create a folder",
  description: "`location` is the parent, by default the caller's own home. Needs write on the parent.",
  tag: "Folders",
  method: "POST",
  paths: { "v1.2": "/folders" },
  access: { permission: OBJECT_PERMISSIONS.folder.write, object: { type: "folder", action: "write" } },
  body: Type.Object({
    name: LocationName,
    location: Type.Optional({ ...LocationField, description: "The full path of the parent", examples: ["Common"] }),
    type: FolderTypeField,
  }),
  example: { body: { name: "reports", location: "Common", type: "notes" } },
  reply: FolderReply,

  async find({ given, reader, caller }) {
    const { location, type } = given();
    const folderType = parseFolderType(type);
    const parent = await findByLocation(reader, { type: folderType, location, member: caller });
    if (parent === undefined) throw unknownFolder(folderType, location);
    return parent;
  },

  async handle({ found: { folderRef, location }, body, caller, change }) {
    const name = checkLocationName("name", body.name);
    return change(async (tx, audit) => {
      await lockTree(tx, folderRef.type, "shared");
      const above = folderRef.folderId === null ? [] : await lockParent(tx, folderRef.folderId);
      if (above === undefined) throw unknownFolder(folderRef.type, body.location);
      if (above.length + 1 >= MAX_DEPTH) {
        throw invalid("location", `must be at most ${MAX_DEPTH - 1} folders deep: choose a parent higher in the tree`);
      }
      const folder = await insertFolder(tx, folderRef, name, caller.membershipId);
      if (folder === undefined) throw nameTaken(name);
      audit.object = `folder/${folder.id}`;
      return folderReply(folder, `${location}/${name}`);
    });
  },
});
