import { Type, type Static } from "typebox";
import type { FolderRef } from "../access/policy/policy.ts";
import { Id, Nullable, OneOf, Timestamp } from "../http/schema.ts";
import { isoSeconds } from "../lib/clock.ts";
import { Paragraph } from "./paragraphs.ts";
import type { NewContent } from "./store/contents.ts";
import type { NotebookRow } from "./store/notebooks.ts";

/** A notebook as the API shows it (decisions §4). */
export const NOTEBOOK_TYPES = ["spark"] as const;

const fields = {
  id: Id,
  name: Type.String({ description: "Unique in its folder" }),
  location: Type.String({ description: "The folder that it lies in", examples: ["Common/reports"] }),
  note_type: OneOf(NOTEBOOK_TYPES),
  label: Nullable(Type.String({ description: "The cluster on which it runs; null: the default cluster" })),
};
const history = {
  user_id: Nullable(Type.Integer({ description: "The user who created it" })),
  created_at: Timestamp,
  updated_at: Type.String({
    ...Timestamp,
    description: "Different after every edit; send it with an edit to have a stale edit refused",
  }),
};

export const Notebook = Type.Object(
  { ...fields, paragraphs: Type.Array(Paragraph), ...history },
  { title: "Notebook" },
);

/** Without paragraphs, because lists do not read contents. */
export const ListedNotebook = Type.Object({ ...fields, ...history }, { title: "ListedNotebook" });

export function notebookObject(
  row: NotebookRow,
  { paragraphs }: Pick<NewContent, "paragraphs">,
  location: string,
): Static<typeof Notebook> {
  return { ...listedNotebook(row, location), paragraphs: [...paragraphs] };
}

export function listedNotebook(row: NotebookRow, location: string): Static<typeof ListedNotebook> {
  return {
    id: row.id,
    name: row.name,
    location,
    note_type: NOTEBOOK_TYPES.find((type) => type === row.notebookType) ?? "spark",
    label: row.label,
    user_id: row.userId,
    created_at: isoSeconds(row.createdAt),
    updated_at: isoSeconds(row.updatedAt),
  };
}

export function folderRefOf({ folderId, homeId }: Pick<NotebookRow, "folderId" | "homeId">): FolderRef {
  return { type: "notes", folderId, homeId };
}
