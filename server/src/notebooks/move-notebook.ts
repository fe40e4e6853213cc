import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import type { WithFolders } from "../folders/contract.ts";
import { findPermittedDestination, lockDestination } from "./destination.ts";
import { ListedNotebook, listedNotebook, folderRefOf } from "./notebook.ts";
import { refuseTakenName } from "./notebook-changes.ts";
import { LocationField } from "./notebook-fields.ts";
import { lockAuthorisedNotebook, notebookInPath, NotebookParams } from "./notebook-in-path.ts";
import { moveNotebook as updateFolder } from "./store/notebooks.ts";

export const moveNotebook = operation({
  id: "notebook_move",
  summary: "Move a notebook to another folder",
  description:
    "Needs update on the notebook and the permission to create notebooks in the folder. Refused if read on the " +
    "notebook is denied. The notebook keeps its policy.",
  tag: "Notebooks",
  method: "PUT",
  paths: { "v1.2": "/notebooks/:note_id/move" },
  access: {
    permission: OBJECT_PERMISSIONS.note.update,
    object: { type: "note", action: "update" },
    authorises: ["folder"],
  },
  params: NotebookParams,
  body: Type.Object({
    location: Type.String({ ...LocationField, description: "The new folder, such as Common/reports" }),
  }),
  example: { body: { location: "Common" } },
  reply: ListedNotebook,
  find: notebookInPath,

  async handle({ found, body, caller, reader, authorise, deny, change }, { folders }: WithFolders) {
    const destination = await findPermittedDestination(folders, { reader, caller, authorise, deny }, body.location);
    return change(async (tx, audit) => {
      await lockDestination(folders, tx, destination);
      const notebook = await lockAuthorisedNotebook(tx, found, authorise, { action: "update", mode: "no key update" });
      const [before = ""] = await folders.locations(tx, [folderRefOf(notebook)]);
      const row = await refuseTakenName(
        updateFolder(tx, notebook.id, destination.folderRef),
        notebook.name,
        destination.location,
      );
      audit.object = `note/${notebook.id}`;
      audit.detail = { before: { location: before }, after: { location: destination.location } };
      return listedNotebook(row, destination.location);
    });
  },
});
