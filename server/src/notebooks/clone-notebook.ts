import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import type { WithFolders } from "../folders/contract.ts";
import { checkLocationName } from "../lib/location-name.ts";
import { findPermittedDestination } from "./destination.ts";
import { Notebook, notebookObject } from "./notebook.ts";
import { addNotebookWithoutContent } from "./notebook-changes.ts";
import { LocationField, notebookFields } from "./notebook-fields.ts";
import { lockAuthorisedNotebook, notebookInPath, NotebookParams } from "./notebook-in-path.ts";
import { copyContent } from "./store/contents.ts";

export const cloneNotebook = operation({
  id: "notebook_clone",
  summary: "Clone a notebook",
  description:
    "Copies paragraphs and outputs, but not the policy. By default the clone has the same name and lies in your own " +
    "home. Needs read on the notebook and the permission to create notebooks in the folder.",
  tag: "Notebooks",
  method: "PUT",
  paths: { "v1.2": "/notebooks/:note_id/clone" },
  access: {
    permission: OBJECT_PERMISSIONS.note.read,
    object: { type: "note", action: "read" },
    authorises: ["folder"],
  },
  params: NotebookParams,
  body: Type.Object({ name: Type.Optional(notebookFields.name), location: Type.Optional(LocationField) }),
  example: { body: { name: "copy", location: "Common" } },
  reply: Notebook,
  find: notebookInPath,

  async handle({ found, body, caller, reader, authorise, deny, change }, { folders }: WithFolders) {
    if (body.name !== undefined) checkLocationName("name", body.name);
    const destination = await findPermittedDestination(folders, { reader, caller, authorise, deny }, body.location);
    return change(async (tx, audit) => {
      const fields = { ...found, name: body.name ?? found.name };
      const row = await addNotebookWithoutContent({ tx, audit, folders, caller }, destination, fields);
      await lockAuthorisedNotebook(tx, found, authorise, { action: "read", mode: "key share" });
      const paragraphs = await copyContent(tx, found.id, row.id);
      return notebookObject(row, { paragraphs }, destination.location);
    });
  },
});
