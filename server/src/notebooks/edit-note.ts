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
import { Note, noteObject, placeOf } from "./note.ts";
import { unlessTaken } from "./note-changes.ts";
import { Location, NOTEBOOK_BODY, noteFields } from "./note-fields.ts";
import { lockJudgedNote, noteInPath, NoteParams } from "./note-in-path.ts";
import { checkTexts, Paragraphs, type Paragraph } from "./paragraphs.ts";
import { readEditedContent, replaceCells, replaceParagraphs } from "./store/contents.ts";
import { updateNote, type NoteRow } from "./store/notes.ts";

export const editNote = operation({
  id: "notebook_edit",
  summary: "Edit a notebook",
  description:
    "Absent fields keep their value; paragraphs are replaced as a whole. With updated_at as it was read, an edit of a " +
    "notebook that has changed since is refused (409). Use move to change its folder.",
  tag: "Notebooks",
  method: "PUT",
  paths: { "v1.2": "/notebooks/:note_id" },
  access: {
    permission: OBJECT_PERMISSIONS.note.update,
    object: { type: "note", action: "update" },
    largeBody: NOTEBOOK_BODY,
  },
  params: NoteParams,
  body: Type.Object({
    ...noteFields,
    name: Type.Optional(noteFields.name),
    paragraphs: Type.Optional(Paragraphs),
    location: Type.Optional(Type.String({ ...Location, description: "Must not differ; use move to change it" })),
    updated_at: Type.Optional(Type.String({ ...Timestamp, description: "As it was read" })),
  }),
  example: { body: { label: "default", paragraphs: [{ language: "sql", text: "select 2 as two" }] } },
  reply: Note,
  find: noteInPath,

  async handle({ found, body, authorise, change }, { folders }: WithFolders) {
    if (body.name !== undefined) checkLocationName("name", body.name);
    checkTexts(body.paragraphs ?? [], (index) => `paragraphs[${index}].text`);
    return change(async (tx, audit) => {
      const current = await lockJudgedNote(tx, found, authorise, { action: "update", mode: "no key update" });
      checkIsCurrent(current, body.updated_at);
      const [location = ""] = await folders.locations(tx, [placeOf(current)]);
      if (body.location !== undefined && body.location !== location) {
        throw invalid("location", `must be ${location}: use PUT notebooks/${current.id}/move to change the folder`);
      }
      const { name = current.name, note_type: noteType = current.noteType, label = current.label } = body;
      const fields = { name, noteType, label: label === "" ? null : label };
      const row = await unlessTaken(updateNote(tx, current.id, fields), name, location);
      audit.object = `note/${current.id}`;
      return noteObject(row, { paragraphs: await editedParagraphs(tx, current.id, body.paragraphs) }, location);
    });
  },
});

function checkIsCurrent({ updatedAt }: NoteRow, read: string | undefined): void {
  const now = isoSeconds(updatedAt);
  if (read === undefined || read === now) return;
  throw new Fault(
    "conflict",
    `updated_at is ${now} by now: the notebook has changed since you read it. View it and repeat the edit.`,
  );
}

/** Replaces the paragraphs, if there are new ones, and returns those of the notebook. */
async function editedParagraphs(
  tx: Tx,
  id: number,
  paragraphs: readonly Paragraph[] | undefined,
): Promise<readonly Paragraph[]> {
  const { paragraphs: before, header } = await readEditedContent(tx, id);
  if (paragraphs === undefined) return before;
  const edit = header === null ? undefined : editCells(header, before, paragraphs);
  if (edit !== undefined) replaceCells(tx, id, edit);
  replaceParagraphs(tx, id, paragraphs);
  return paragraphs;
}
