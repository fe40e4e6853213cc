import { Type, type Static } from "typebox";
import type { Place } from "../access/policy/policy.ts";
import { Id, Nullable, OneOf, Timestamp } from "../http/schema.ts";
import { isoSeconds } from "../lib/clock.ts";
import { Paragraph } from "./paragraphs.ts";
import type { NewContent } from "./store/contents.ts";
import type { NoteRow } from "./store/notes.ts";

/** A notebook as the API shows it (decisions §4). */
export const NOTE_TYPES = ["spark"] as const;

const fields = {
  id: Id,
  name: Type.String({ description: "Unique in its folder" }),
  location: Type.String({ description: "The folder that it lies in", examples: ["Common/reports"] }),
  note_type: OneOf(NOTE_TYPES),
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

export const Note = Type.Object({ ...fields, paragraphs: Type.Array(Paragraph), ...history }, { title: "Notebook" });

/** Without paragraphs, because lists do not read contents. */
export const ListedNote = Type.Object({ ...fields, ...history }, { title: "ListedNotebook" });

export function noteObject(
  row: NoteRow,
  { paragraphs }: Pick<NewContent, "paragraphs">,
  location: string,
): Static<typeof Note> {
  return { ...listedNote(row, location), paragraphs: [...paragraphs] };
}

export function listedNote(row: NoteRow, location: string): Static<typeof ListedNote> {
  return {
    id: row.id,
    name: row.name,
    location,
    note_type: NOTE_TYPES.find((type) => type === row.noteType) ?? "spark",
    label: row.label,
    user_id: row.userId,
    created_at: isoSeconds(row.createdAt),
    updated_at: isoSeconds(row.updatedAt),
  };
}

export function placeOf({ folderId, homeId }: Pick<NoteRow, "folderId" | "homeId">): Place {
  return { type: "notes", folderId, homeId };
}
