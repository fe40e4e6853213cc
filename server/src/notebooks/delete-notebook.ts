import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import { deletePolicies } from "../access/policy/store.ts";
import { lockAuthorisedNotebook, notebookInPath, NotebookParams } from "./notebook-in-path.ts";
import { deleteNotebook as removeNotebook } from "./store/notebooks.ts";

export const deleteNotebook = operation({
  id: "notebook_delete",
  summary: "Delete a notebook",
  description: "Its dashboards stay, but cannot be published again.",
  tag: "Notebooks",
  method: "DELETE",
  paths: { "v1.2": "/notebooks/:note_id" },
  access: { permission: OBJECT_PERMISSIONS.note.delete, object: { type: "note", action: "delete" } },
  params: NotebookParams,
  reply: Type.Object({ status: Type.Literal("deleted") }),
  find: notebookInPath,

  async handle({ found, authorise, change }) {
    return change(async (tx, audit) => {
      await lockAuthorisedNotebook(tx, found, authorise, { action: "delete", mode: "no key update" });
      removeNotebook(tx, found.id);
      deletePolicies(tx, "note", [found.id]);
      audit.object = `note/${found.id}`;
      return { status: "deleted" as const };
    });
  },
});
