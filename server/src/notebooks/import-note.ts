import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import type { WithFolders } from "../folders/contract.ts";
import { checkLocationName } from "../lib/location-name.ts";
import { findDestination, MAY_CREATE_NOTES } from "./destination.ts";
import { notebookText } from "./ipynb/notebook-text.ts";
import { readIpynb } from "./ipynb/read-ipynb.ts";
import { Note } from "./note.ts";
import { addNote } from "./note-changes.ts";
import { LocationField, NOTEBOOK_BODY, noteFields } from "./note-fields.ts";

export const importNote = operation({
  id: "notebook_import",
  summary: "Import an .ipynb file",
  description:
    "`notebook` is the JSON of the file (nbformat 4). The body can have 32 MiB and 500,000 JSON values. Cells become " +
    "paragraphs; outputs and metadata are kept and appear in the export.",
  tag: "Notebooks",
  method: "POST",
  paths: { "v1.2": "/notebooks/import" },
  access: {
    permission: MAY_CREATE_NOTES,
    object: { type: "folder", action: "write" },
    // Charts in outputs have a JSON value for each point, more than other bodies may have.
    largeBody: { ...NOTEBOOK_BODY, values: 500_000 },
  },
  body: Type.Object({
    ...noteFields,
    location: Type.Optional(LocationField),
    notebook: Type.Unknown({
      description: "The content of the .ipynb file",
      examples: [{ nbformat: 4, nbformat_minor: 5, metadata: {}, cells: [] }],
    }),
  }),
  example: { body: { name: "imported", notebook: { nbformat: 4, nbformat_minor: 5, metadata: {}, cells: [] } } },
  reply: Note,
  find: ({ given, reader, caller }, { folders }: WithFolders) =>
    findDestination(folders, reader, { type: "notes", location: given().location, caller }),

  async handle({ found, body, caller, change }, { folders }: WithFolders) {
    const { name, note_type: noteType = "spark", label = "" } = body;
    checkLocationName("name", name);
    const { paragraphs, file } = readIpynb(body.notebook, "notebook");
    const notebook = await notebookText(file, "notebook");
    const fields = { name, noteType, label: label === "" ? null : label };
    return change((tx, audit) => addNote({ tx, audit, folders, caller }, found, fields, { paragraphs, notebook }));
  },
});
