import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import type { WithFolders } from "../folders/contract.ts";
import { notFound } from "../lib/fault.ts";
import { findDestination, lockDestination, MAY_CREATE_NOTES } from "./destination.ts";
import { ListedNote, listedNote, placeOf } from "./note.ts";
import { unlessTaken } from "./note-changes.ts";
import { Location } from "./note-fields.ts";
import { noteInPath, NoteParams } from "./note-in-path.ts";
import { lockNote, moveNote as updatePlace } from "./store/notes.ts";

export const moveNote = operation({
  id: "notebook_move",
  summary: "Move a notebook to another folder",
  description: "Needs update on the notebook and the permission to create one in the folder. Its policy stays.",
  tag: "Notebooks",
  method: "PUT",
  paths: { "v1.2": "/notebooks/:note_id/move" },
  access: {
    permission: OBJECT_PERMISSIONS.note.update,
    object: { type: "note", action: "update" },
    judges: ["folder"],
  },
  params: NoteParams,
  body: Type.Object({ location: Type.String({ ...Location, description: "The folder" }) }),
  example: { body: { location: "Common" } },
  reply: ListedNote,
  find: noteInPath,

  async handle({ found, body, caller, reader, authorise, change }, { folders }: WithFolders) {
    const destination = await findDestination(folders, reader, { type: "notes", location: body.location, caller });
    await authorise(destination.policyObject, "write", MAY_CREATE_NOTES);
    return change(async (tx, audit) => {
      await lockDestination(folders, tx, destination);
      const note = await lockNote(tx, found.id);
      if (note === undefined) throw notFound();
      const [before = ""] = await folders.locations(tx, [placeOf(note)]);
      const row = await unlessTaken(updatePlace(tx, note.id, destination.place), note.name, destination.location);
      audit.object = `note/${note.id}`;
      audit.detail = { before: { location: before }, after: { location: destination.location } };
      return listedNote(row, destination.location);
    });
  },
});
