import { Type, type Static } from "typebox";
import type { FolderRef } from "../../access/policy/policy.ts";
import { Id, Nullable, Timestamp } from "../../http/schema.ts";
import { isoSeconds } from "../../lib/clock.ts";
import { NO_OUTPUTS, partsOf } from "../ipynb/stored-notebook.ts";
import type { ContentTexts } from "../ipynb/write-ipynb.ts";
import { Paragraph } from "../paragraphs.ts";
import type { DashboardRow } from "./store.ts";

/** A dashboard: a read-only copy of a notebook, with its outputs, as of its last publication. */
const fields = {
  id: Id,
  name: Type.String({ description: "Unique in its folder" }),
  location: Type.String({ description: "The folder that it lies in", examples: ["Common/reports"] }),
  note_id: Nullable(Type.Integer({ description: "The notebook; null: it was deleted" })),
  user_id: Nullable(Type.Integer({ description: "The user who created it" })),
  created_at: Timestamp,
  updated_at: Type.String({ ...Timestamp, description: "When it was last published" }),
};

const PublishedParagraph = Type.Object({
  ...Paragraph.properties,
  outputs: Type.Array(Type.Unknown(), { description: "As in .ipynb files (nbformat 4)" }),
});

export const Dashboard = Type.Object({ ...fields, paragraphs: Type.Array(PublishedParagraph) }, { title: "Dashboard" });

/** Without paragraphs, because lists and changes do not read contents. */
export const ListedDashboard = Type.Object(fields, { title: "ListedDashboard" });

/** The JSON text of a `Dashboard`, in chunks: outputs can have tens of megabytes. */
export function* writeDashboard(
  row: DashboardRow,
  location: string,
  { paragraphs, notebook }: ContentTexts,
): Generator<string> {
  const cells = partsOf(notebook)?.cells ?? [];
  yield `${JSON.stringify(listedDashboard(row, location)).slice(0, -1)},"paragraphs":[`;
  for (const [index, text] of paragraphs.entries()) {
    const { outputs = NO_OUTPUTS } = cells[index] ?? {};
    yield `${index === 0 ? "" : ","}${text.slice(0, -1)},"outputs":`;
    yield outputs === NO_OUTPUTS ? "[]" : outputs;
    yield "}";
  }
  yield "]}";
}

export function listedDashboard(row: DashboardRow, location: string): Static<typeof ListedDashboard> {
  return {
    id: row.id,
    name: row.name,
    location,
    note_id: row.notebookId,
    user_id: row.userId,
    created_at: isoSeconds(row.createdAt),
    updated_at: isoSeconds(row.updatedAt),
  };
}

export function folderRefOf({ folderId, homeId }: Pick<DashboardRow, "folderId" | "homeId">): FolderRef {
  return { type: "notebook_dashboards", folderId, homeId };
}
