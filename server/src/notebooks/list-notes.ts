import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import type { WithFolders } from "../folders/contract.ts";
import { pageOf, PageQuery, PagingInfo, pagingInfo, shownRows } from "../http/paging.ts";
import { placeToList } from "./listed-place.ts";
import { ListedNote, listedNote, placeOf } from "./note.ts";
import { LocationField } from "./note-fields.ts";
import { listRows } from "./store/list-readable.ts";
import { NOTE_COLUMNS, type NoteRow } from "./store/notes.ts";

const LIST = { table: "note", tree: "notes", columns: NOTE_COLUMNS } as const;

export const listNotes = operation({
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
  reply: Type.Object({ paging_info: PagingInfo, notebooks: Type.Array(ListedNote) }),

  async handle({ query, reader, readable, caller }, { folders }: WithFolders) {
    const page = pageOf(query);
    const scope = readable();
    const place = await placeToList(folders, reader, { type: "notes", location: query.location, caller }, scope);
    const rows = place === null ? [] : await listRows<NoteRow>(reader, LIST, scope, page, place);
    const shown = shownRows(page, rows);
    const locations = await folders.locations(reader, shown.map(placeOf));
    return {
      paging_info: pagingInfo(page, rows),
      notebooks: shown.map((row, index) => listedNote(row, locations[index] ?? "")),
    };
  },
});
