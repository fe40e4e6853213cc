import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import { unknownFolder } from "../access/policy/unknown-object.ts";
import { pageOf, PageQuery, PagingInfo, pagingInfo, shownRows } from "../http/paging.ts";
import { findByLocation, folderRefOf } from "./find-by-location.ts";
import { Folder, folderObject, FolderTypeField, LocationField } from "./folder.ts";
import { listChildren, listFolders as listTree } from "./store/lists.ts";
import { readLocations } from "./store/folders.ts";

export const listFolders = operation({
  id: "folder_list",
  summary: "List folders",
  description:
    "Lists the folders that the caller may read. With `location`: the folders directly in it, by name. Without: all " +
    "folders of the type, in the order of their creation.",
  tag: "Folders",
  method: "GET",
  paths: { "v1.2": "/folders" },
  access: { permission: OBJECT_PERMISSIONS.folder.read, lists: "folder" },
  query: Type.Object({
    ...PageQuery,
    location: Type.Optional(LocationField),
    type: Type.Optional({ ...FolderTypeField, default: "notes" }),
  }),
  reply: Type.Object({ paging_info: PagingInfo, folders: Type.Array(Folder) }),

  async handle({ query, reader, readable, caller }) {
    const page = pageOf(query);
    const scope = readable();
    const { location, type = "notes" } = query;
    const parent =
      location === undefined ? undefined : await findByLocation(reader, { type, location, member: caller });
    // Callers whom only policies admit get an empty list instead, so they do not learn which folders exist.
    if (location !== undefined && parent === undefined && scope.byPermission) throw unknownFolder(type, location);
    const rows =
      location === undefined
        ? await listTree(reader, scope, type, page)
        : parent === undefined
          ? []
          : await listChildren(reader, scope, parent.folderRef, page);
    const shown = shownRows(page, rows);
    const locations = await readLocations(reader, shown.map(folderRefOf));
    return {
      paging_info: pagingInfo(page, rows),
      folders: shown.map((row, index) => folderObject(row, locations[index] ?? "")),
    };
  },
});
