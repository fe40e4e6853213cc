import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import type { WithFolders } from "../folders/contract.ts";
import { findPermittedDestination, lockDestination } from "./destination.ts";
import { ListedNote, listedNote, placeOf } from "./note.ts";
import { refuseTakenName } from "./note-changes.ts";
import { LocationField } from "./note-fields.ts";
import { lockJudgedNote, noteInPath, NoteParams } from "./note-in-path.ts";
import { moveNote as updatePlace } from "./store/notes.ts";

export const moveNote = operation({
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
    judges: ["folder"],
  },
  params: NoteParams,
  body: Type.Object({
    location: Type.String({ ...LocationField, description: "The new folder, such as Common/reports" }),
  }),
  example: { body: { location: "Common" } },
  reply: ListedNote,
  find: noteInPath,

  async handle({ found, body, caller, reader, authorise, deny, change }, { folders }: WithFolders) {
    const destination = await findPermittedDestination(folders, { reader, caller, authorise, deny }, body.location);
    return change(async (tx, audit) => {
      await lockDestination(folders, tx, destination);
      const note = await lockJudgedNote(tx, found, authorise, { action: "update", mode: "no key update" });
      const [before = ""] = await folders.locations(tx, [placeOf(note)]);
      const row = await refuseTakenName(updatePlace(tx, note.id, destination.place), note.name, destination.location);
      audit.object = `note/${note.id}`;
      audit.detail = { before: { location: before }, after: { location: destination.location } };
      return listedNote(row, destination.location);
    });
  },
});
