import { operation } from "../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import type { WithFolders } from "../folders/contract.ts";
import { notFound } from "../lib/fault.ts";
import { Notebook, notebookObject, folderRefOf } from "./notebook.ts";
import { hasMoved, notebookInPath, NotebookParams, policyObjectOf } from "./notebook-in-path.ts";
import { readNotebookWithParagraphs } from "./store/contents.ts";

export const viewNotebook = operation({
  id: "notebook_view",
  summary: "View a notebook",
  description: "Shows the notebook with its paragraphs. Its outputs are in the export.",
  tag: "Notebooks",
  method: "GET",
  paths: { "v1.2": "/notebooks/:note_id" },
  access: { permission: OBJECT_PERMISSIONS.note.read, object: { type: "note", action: "read" } },
  params: NotebookParams,
  reply: Notebook,
  find: notebookInPath,

  async handle({ found, reader, authorise }, { folders }: WithFolders) {
    const notebook = await readNotebookWithParagraphs(reader, found.id);
    if (notebook === undefined) throw notFound("Notebook", found.id);
    if (hasMoved(found, notebook)) await authorise(policyObjectOf(notebook), "read", OBJECT_PERMISSIONS.note.read);
    const [location = ""] = await folders.locations(reader, [folderRefOf(notebook)]);
    return notebookObject(notebook, notebook, location);
  },
});
