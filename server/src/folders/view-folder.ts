import { operation } from "../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import { folderRefOf } from "./find-by-location.ts";
import { Folder, folderObject } from "./folder.ts";
import { folderInPath, FolderParams } from "./folder-in-request.ts";
import { readLocations } from "./store/folders.ts";

export const viewFolder = operation({
  id: "folder_view",
  summary: "View a folder",
  tag: "Folders",
  method: "GET",
  paths: { "v1.2": "/folders/:folder_id" },
  access: { permission: OBJECT_PERMISSIONS.folder.read, object: { type: "folder", action: "read" } },
  params: FolderParams,
  reply: Folder,
  find: folderInPath,

  async handle({ found: { folder }, reader }) {
    const [location = ""] = await readLocations(reader, [folderRefOf(folder)]);
    return folderObject(folder, location);
  },
});
