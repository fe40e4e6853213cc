import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import type { WithFolders } from "../folders/contract.ts";
import { checkLocationName } from "../lib/location-name.ts";
import { findDestination, MAY_CREATE_NOTES } from "./destination.ts";
import { Note } from "./note.ts";
import { addNote } from "./note-changes.ts";
import { LocationField, NOTEBOOK_BODY, noteFields } from "./note-fields.ts";
import { checkTexts, Paragraphs } from "./paragraphs.ts";

export const createNote = operation({
  id: "notebook_create",
  summary: "Create a notebook",
  description: "Needs a policy that allows write on the folder, or the permission to create notebooks.",
  tag: "Notebooks",
  method: "POST",
  paths: { "v1.2": "/notebooks" },
  access: {
    permission: MAY_CREATE_NOTES,
    object: { type: "folder", action: "write" },
    largeBody: NOTEBOOK_BODY,
  },
  body: Type.Object({
    ...noteFields,
    location: Type.Optional(LocationField),
    paragraphs: Type.Optional(Paragraphs),
  }),
  example: { body: { name: "first", paragraphs: [{ language: "sql", text: "select 1 as one" }] } },
  reply: Note,
  find: ({ given, reader, caller }, { folders }: WithFolders) =>
    findDestination(folders, reader, { type: "notes", location: given().location, caller }),

  async handle({ found, body, caller, change }, { folders }: WithFolders) {
    const { name, note_type: noteType = "spark", label = "", paragraphs = [] } = body;
    checkLocationName("name", name);
    checkTexts(paragraphs, (index) => `paragraphs[${index}].text`);
    const fields = { name, noteType, label: label === "" ? null : label };
    return change((tx, audit) =>
      addNote({ tx, audit, folders, caller }, found, fields, { paragraphs, notebook: null }),
    );
  },
});
