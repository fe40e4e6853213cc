import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import type { WithFolders } from "../folders/contract.ts";
import { checkLocationName } from "../lib/location-name.ts";
import { findDestination, MAY_CREATE_NOTEBOOKS } from "./destination.ts";
import { notebookText } from "./ipynb/notebook-text.ts";
import { readIpynb } from "./ipynb/read-ipynb.ts";
import { Notebook } from "./notebook.ts";
import { addNotebook } from "./notebook-changes.ts";
import { LocationField, NOTEBOOK_BODY, notebookFields } from "./notebook-fields.ts";

export const importNotebook = operation({
  id: "notebook_import",
  summary: "Import an .ipynb file",
  description:
    "`notebook` is the JSON of the file (nbformat 4). The body can have 32 MiB and 500,000 JSON values. Cells become " +
    "paragraphs; outputs and metadata are kept and appear in the export.",
  tag: "Notebooks",
  method: "POST",
  paths: { "v1.2": "/notebooks/import" },
  access: {
    permission: MAY_CREATE_NOTEBOOKS,
    object: { type: "folder", action: "write" },
    // Charts in outputs have a JSON value for each point, more than other bodies may have.
    largeBody: { ...NOTEBOOK_BODY, values: 500_000 },
  },
  body: Type.Object({
    ...notebookFields,
    location: Type.Optional(LocationField),
    notebook: Type.Unknown({
      description: "The content of the .ipynb file",
      examples: [{ nbformat: 4, nbformat_minor: 5, metadata: {}, cells: [] }],
    }),
  }),
  example: { body: { name: "imported", notebook: { nbformat: 4, nbformat_minor: 5, metadata: {}, cells: [] } } },
  reply: Notebook,
  find: ({ given, reader, caller }, { folders }: WithFolders) =>
    findDestination(folders, reader, { type: "notes", location: given().location, caller }),

  async handle({ found, body, caller, change }, { folders }: WithFolders) {
    const { name, note_type: notebookType = "spark", label = "" } = body;
    checkLocationName("name", name);
    const { paragraphs, file } = readIpynb(body.notebook, "notebook");
    const notebook = await notebookText(file, "notebook");
    const fields = { name, notebookType, label: label === "" ? null : label };
    return change((tx, audit) => addNotebook({ tx, audit, folders, caller }, found, fields, { paragraphs, notebook }));
  },
});
