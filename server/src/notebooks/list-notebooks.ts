import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import type { WithFolders } from "../folders/contract.ts";
import { pageOf, PageQuery, PagingInfo, pagingInfo, shownRows } from "../http/paging.ts";
import { folderToList } from "./folder-to-list.ts";
import { ListedNotebook, listedNotebook, folderRefOf } from "./notebook.ts";
import { LocationField } from "./notebook-fields.ts";
import { listRows } from "./store/list-readable.ts";
import { NOTEBOOK_COLUMNS, type NotebookRow } from "./store/notebooks.ts";

const LIST = { table: "note", tree: "notes", columns: NOTEBOOK_COLUMNS } as const;

export const listNotebooks = operation({
  id: "notebook_list",
  summary: "List notebooks",
  description: "Lists the notebooks that the caller may read, by folder, without their paragraphs.",
  tag: "Notebooks",
  method: "GET",
  paths: { "v1.2": "/notebooks" },
  access: { permission: OBJECT_PERMISSIONS.note.read, lists: "note" },
  query: Type.Object({
    ...PageQuery,
    location: Type.Optional(
      Type.String({
        ...LocationField,
        description: "Only notebooks directly in this folder; by default those of all folders",
      }),
    ),
  }),
  reply: Type.Object({ paging_info: PagingInfo, notebooks: Type.Array(ListedNotebook) }),

  async handle({ query, reader, readable, caller }, { folders }: WithFolders) {
    const page = pageOf(query);
    const scope = readable();
    const folderRef = await folderToList(folders, reader, { type: "notes", location: query.location, caller }, scope);
    const rows = folderRef === null ? [] : await listRows<NotebookRow>(reader, LIST, scope, page, folderRef);
    const shown = shownRows(page, rows);
    const locations = await folders.locations(reader, shown.map(folderRefOf));
    return {
      paging_info: pagingInfo(page, rows),
      notebooks: shown.map((row, index) => listedNotebook(row, locations[index] ?? "")),
    };
  },
});
