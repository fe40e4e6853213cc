import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import { deletePolicies } from "../access/policy/store.ts";
import { lockJudgedNote, noteInPath, NoteParams } from "./note-in-path.ts";
import { deleteNote as removeNote } from "./store/notes.ts";

export const deleteNote = operation({
  id: "notebook_delete",
  summary: "Delete a notebook",
  description: "Its dashboards stay, but cannot be published again.",
  tag: "Notebooks",
  method: "DELETE",
  paths: { "v1.2": "/notebooks/:note_id" },
  access: { permission: OBJECT_PERMISSIONS.note.delete, object: { type: "note", action: "delete" } },
  params: NoteParams,
  reply: Type.Object({ status: Type.Literal("deleted") }),
  find: noteInPath,

  async handle({ found, authorise, change }) {
    return change(async (tx, audit) => {
      await lockJudgedNote(tx, found, authorise, { action: "delete", mode: "no key update" });
      removeNote(tx, found.id);
      deletePolicies(tx, "note", [found.id]);
      audit.object = `note/${found.id}`;
      return { status: "deleted" as const };
    });
  },
});
