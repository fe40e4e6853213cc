import type { Queryable, Tx } from "../../db/database.ts";
import type { CellEdit } from "../ipynb/edit-cells.ts";
import type { NotebookHeader } from "../ipynb/stored-notebook.ts";
import type { ContentTexts } from "../ipynb/write-ipynb.ts";
import type { Paragraph } from "../paragraphs.ts";
import { NOTE_COLUMNS, type NoteRow } from "./notes.ts";

/**
 * The contents of notebooks and dashboards, apart from their rows, so that lists do not read them. What an import has kept
 * besides the paragraphs can have tens of megabytes: it is only read for exports and dashboards, as text. Copies and edits
 * of it happen inside PostgreSQL.
 */
export interface NewContent {
  readonly paragraphs: readonly Paragraph[];
  /** The text of an array as in ipynb/stored-notebook.ts; null: the notebook was not imported. */
  readonly notebook: string | null;
}

/** The row and its paragraphs as of the same moment. */
export async function readNoteTexts(
  reader: Queryable,
  id: number,
): Promise<(NoteRow & Pick<NewContent, "paragraphs">) | undefined> {
  const [row] = await reader.query<NoteRow & Pick<NewContent, "paragraphs">>(
    `select ${NOTE_COLUMNS}, c.paragraphs from note o join note_content c on c.note_id = o.id where o.id = $1`,
    [id],
  );
  return row;
}

/** The JSON texts of the whole content. Undefined: there is none, because its owner was deleted. */
export async function readContentTexts(
  reader: Queryable,
  owner: "note" | "dashboard",
  id: number,
): Promise<ContentTexts | undefined> {
  const rows = await reader.query<{ part: "content" | "paragraph" | "notebook"; position: number; text: string }>(
    `with content as materialized (
       select c.paragraphs, c.notebook from ${owner}_content c where c.${owner}_id = $1)
     select 'content' as part, 0 as position, '' as text from content
     union all
     select 'paragraph', e.position, e.value::text
       from content c cross join json_array_elements(c.paragraphs) with ordinality e (value, position)
     union all
     select 'notebook', e.position, e.value::text
       from content c cross join json_array_elements(c.notebook) with ordinality e (value, position)`,
    [id],
  );
  if (rows.length === 0) return undefined;
  // Sorted here: PostgreSQL would sort the texts with the positions, on disk.
  rows.sort((one, two) => one.position - two.position);
  const textsOf = (part: string): string[] => rows.filter((row) => row.part === part).map(({ text }) => text);
  return { paragraphs: textsOf("paragraph"), notebook: textsOf("notebook") };
}

/** The parts of the content that an edit needs. The header comes first in the text and has no object inside. */
export async function readEditedContent(
  tx: Tx,
  id: number,
): Promise<{ paragraphs: readonly Paragraph[]; header: NotebookHeader | null }> {
  const [row] = await tx.query<{ paragraphs: readonly Paragraph[]; header: NotebookHeader | null }>(
    `select paragraphs, (regexp_match(left(notebook::text, 200), '^\\[(\\{[^}]*\\})'))[1]::json as header
       from note_content where note_id = $1`,
    [id],
  );
  if (row === undefined) throw new Error("a notebook has no content");
  return row;
}

export function insertContent(tx: Tx, id: number, { paragraphs, notebook }: NewContent): void {
  tx.send("insert into note_content (note_id, paragraphs, notebook) values ($1, $2, $3)", [
    id,
    JSON.stringify(paragraphs),
    notebook,
  ]);
  sendBytes(tx, id);
}

export function replaceParagraphs(tx: Tx, id: number, paragraphs: readonly Paragraph[]): void {
  tx.send("update note_content set paragraphs = $2 where note_id = $1", [id, JSON.stringify(paragraphs)]);
  sendBytes(tx, id);
}

/** Puts the cells of the stored notebook into the order of the edit, with new ones between them. */
export function replaceCells(tx: Tx, id: number, { header, cells }: CellEdit): void {
  tx.send(
    `with part as materialized (
       select e.position, e.value::text as text
         from note_content c cross join json_array_elements(c.notebook) with ordinality e (value, position)
        where c.note_id = $1),
     -- The third and fourth part belong to the first cell.
     cell as (
       select n.place, coalesce(n.text, outputs.text || ',' || rest.text) as text
         from unnest($3::integer[], $4::text[]) with ordinality as n (kept, text, place)
         left join part outputs on outputs.position = 2 * n.kept + 3
         left join part rest on rest.position = 2 * n.kept + 4)
     update note_content set notebook = (
       '[' || $2 || ',' || (select p.text from part p where p.position = 2)
           || coalesce((select string_agg(',' || c.text, '' order by c.place) from cell c), '') || ']')::json
      where note_id = $1`,
    [
      id,
      JSON.stringify(header),
      cells.map((cell) => (typeof cell === "number" ? cell : null)),
      cells.map((cell) => (typeof cell === "number" ? null : `${cell.outputs},${cell.cell}`)),
    ],
  );
  sendBytes(tx, id);
}

/** PostgreSQL counts them: what an import has kept is not read here. */
function sendBytes(tx: Tx, id: number): void {
  tx.send(
    `update note set bytes = (
       select octet_length(c.paragraphs::text) + coalesce(octet_length(c.notebook::text), 0)
         from note_content c where c.note_id = $1)
      where id = $1`,
    [id],
  );
}

/** The content of a locked notebook for its clone; returns the paragraphs. */
export async function copyContent(tx: Tx, from: number, to: number): Promise<readonly Paragraph[]> {
  const [row] = await tx.query<Pick<NewContent, "paragraphs">>(
    `insert into note_content (note_id, paragraphs, notebook)
     select $2, paragraphs, notebook from note_content where note_id = $1 returning paragraphs`,
    [from, to],
  );
  if (row === undefined) throw new Error("a notebook has no content");
  sendBytes(tx, to);
  return row.paragraphs;
}
