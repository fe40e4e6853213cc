import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import type { Tx } from "../db/database.ts";
import type { WithFolders } from "../folders/contract.ts";
import { Timestamp } from "../http/schema.ts";
import { isoSeconds } from "../lib/clock.ts";
import { Fault, invalid } from "../lib/fault.ts";
import { checkLocationName } from "../lib/location-name.ts";
import { editCells } from "./ipynb/edit-cells.ts";
import { Notebook, notebookObject, folderRefOf } from "./notebook.ts";
import { refuseTakenName } from "./notebook-changes.ts";
import { LocationField, NOTEBOOK_BODY, notebookFields } from "./notebook-fields.ts";
import { lockAuthorisedNotebook, notebookInPath, NotebookParams } from "./notebook-in-path.ts";
import { checkTexts, Paragraphs, type Paragraph } from "./paragraphs.ts";
import { readContentForEdit, replaceCells, replaceParagraphs } from "./store/contents.ts";
import { updateNotebook, type NotebookRow } from "./store/notebooks.ts";

export const editNotebook = operation({
  id: "notebook_edit",
  summary: "Edit a notebook",
  description:
    "Absent fields keep their values; `paragraphs` replaces all paragraphs. Send `updated_at` as you read it: then " +
    "the edit is refused (409) if the notebook has changed since. Use move to change the folder. Refused if read on " +
    "the notebook is denied, because the reply shows it.",
  tag: "Notebooks",
  method: "PUT",
  paths: { "v1.2": "/notebooks/:note_id" },
  access: {
    permission: OBJECT_PERMISSIONS.note.update,
    object: { type: "note", action: "update" },
    largeBody: NOTEBOOK_BODY,
  },
  params: NotebookParams,
  body: Type.Object({
    ...notebookFields,
    name: Type.Optional(notebookFields.name),
    paragraphs: Type.Optional(Paragraphs),
    location: Type.Optional(
      Type.String({ ...LocationField, description: "Must be the current folder; use move to change it" }),
    ),
    updated_at: Type.Optional(
      Type.String({
        ...Timestamp,
        description: "As you read it; an edit of a notebook that has changed since is refused",
      }),
    ),
  }),
  example: { body: { label: "default", paragraphs: [{ language: "sql", text: "select 2 as two" }] } },
  reply: Notebook,
  find: notebookInPath,

  async handle({ found, body, authorise, change }, { folders }: WithFolders) {
    if (body.name !== undefined) checkLocationName("name", body.name);
    checkTexts(body.paragraphs ?? [], (index) => `paragraphs[${index}].text`);
    return change(async (tx, audit) => {
      const current = await lockAuthorisedNotebook(tx, found, authorise, { action: "update", mode: "no key update" });
      checkIsCurrent(current, body.updated_at);
      const [location = ""] = await folders.locations(tx, [folderRefOf(current)]);
      if (body.location !== undefined && body.location !== location) {
        throw invalid("location", `must be ${location}: use PUT notebooks/${current.id}/move to change the folder`);
      }
      const { name = current.name, note_type: notebookType = current.notebookType, label = current.label } = body;
      const fields = { name, notebookType, label: label === "" ? null : label };
      const row = await refuseTakenName(updateNotebook(tx, current.id, fields), name, location);
      audit.object = `note/${current.id}`;
      return notebookObject(row, { paragraphs: await saveParagraphs(tx, current.id, body.paragraphs) }, location);
    });
  },
});

function checkIsCurrent({ updatedAt }: NotebookRow, given: string | undefined): void {
  const current = isoSeconds(updatedAt);
  if (given === undefined || given === current) return;
  throw new Fault(
    "conflict",
    `updated_at is now ${current}: the notebook has changed since you read it. View it again and repeat the edit.`,
  );
}

/** Replaces the paragraphs, if the request gives new ones. Returns the paragraphs that the notebook then has. */
async function saveParagraphs(
  tx: Tx,
  id: number,
  paragraphs: readonly Paragraph[] | undefined,
): Promise<readonly Paragraph[]> {
  const { paragraphs: before, header } = await readContentForEdit(tx, id);
  if (paragraphs === undefined) return before;
  const edit = header === null ? undefined : editCells(header, before, paragraphs);
  if (edit !== undefined) replaceCells(tx, id, edit);
  replaceParagraphs(tx, id, paragraphs);
  return paragraphs;
}
