import { operation } from "../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import type { WithFolders } from "../folders/contract.ts";
import { notFound } from "../lib/fault.ts";
import { Note, noteObject, placeOf } from "./note.ts";
import { hasMoved, noteInPath, NoteParams, policyObjectOf } from "./note-in-path.ts";
import { readNoteWithParagraphs } from "./store/contents.ts";

export const viewNote = operation({
  id: "notebook_view",
  summary: "View a notebook",
  description: "Shows the notebook with its paragraphs. Its outputs are in the export.",
  tag: "Notebooks",
  method: "GET",
  paths: { "v1.2": "/notebooks/:note_id" },
  access: { permission: OBJECT_PERMISSIONS.note.read, object: { type: "note", action: "read" } },
  params: NoteParams,
  reply: Note,
  find: noteInPath,

  async handle({ found, reader, authorise }, { folders }: WithFolders) {
    const note = await readNoteWithParagraphs(reader, found.id);
    if (note === undefined) throw notFound("Notebook", found.id);
    if (hasMoved(found, note)) await authorise(policyObjectOf(note), "read", OBJECT_PERMISSIONS.note.read);
    const [location = ""] = await folders.locations(reader, [placeOf(note)]);
    return noteObject(note, note, location);
  },
});
