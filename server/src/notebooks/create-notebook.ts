import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import type { WithFolders } from "../folders/contract.ts";
import { checkLocationName } from "../lib/location-name.ts";
import { findDestination, MAY_CREATE_NOTEBOOKS } from "./destination.ts";
import { Notebook } from "./notebook.ts";
import { addNotebook } from "./notebook-changes.ts";
import { LocationField, NOTEBOOK_BODY, notebookFields } from "./notebook-fields.ts";
import { checkTexts, Paragraphs } from "./paragraphs.ts";

export const createNotebook = operation({
  id: "notebook_create",
  summary: "Create a notebook",
  description: "Needs a policy that allows write on the folder, or the permission to create notebooks.",
  tag: "Notebooks",
  method: "POST",
  paths: { "v1.2": "/notebooks" },
  access: {
    permission: MAY_CREATE_NOTEBOOKS,
    object: { type: "folder", action: "write" },
    largeBody: NOTEBOOK_BODY,
  },
  body: Type.Object({
    ...notebookFields,
    location: Type.Optional(LocationField),
    paragraphs: Type.Optional(Paragraphs),
  }),
  example: { body: { name: "first", paragraphs: [{ language: "sql", text: "select 1 as one" }] } },
  reply: Notebook,
  find: ({ given, reader, caller }, { folders }: WithFolders) =>
    findDestination(folders, reader, { type: "notes", location: given().location, caller }),

  async handle({ found, body, caller, change }, { folders }: WithFolders) {
    const { name, note_type: notebookType = "spark", label = "", paragraphs = [] } = body;
    checkLocationName("name", name);
    checkTexts(paragraphs, (index) => `paragraphs[${index}].text`);
    const fields = { name, notebookType, label: label === "" ? null : label };
    return change((tx, audit) =>
      addNotebook({ tx, audit, folders, caller }, found, fields, { paragraphs, notebook: null }),
    );
  },
});
