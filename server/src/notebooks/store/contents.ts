/**
 * The contents of notebooks and dashboards, in tables of their own, so that lists do not read them. The stored form of
 * an imported file can have tens of megabytes: it is read as text, for exports and dashboards only, and copied and
 * edited inside PostgreSQL.
 */
import type { Queryable, Tx } from "../../db/database.ts";
import type { CellEdit } from "../ipynb/edit-cells.ts";
import type { NotebookHeader } from "../ipynb/stored-notebook.ts";
import type { ContentTexts } from "../ipynb/write-ipynb.ts";
import type { Paragraph } from "../paragraphs.ts";
import { NOTEBOOK_COLUMNS, type NotebookRow } from "./notebooks.ts";

export interface NewContent {
  readonly paragraphs: readonly Paragraph[];
  /** The JSON text of the array that ipynb/stored-notebook.ts describes; null: the notebook was not imported. */
  readonly notebook: string | null;
}

/** Reads both in one statement, so the paragraphs belong to the row's `updatedAt`. */
export async function readNotebookWithParagraphs(
  reader: Queryable,
  id: number,
): Promise<(NotebookRow & Pick<NewContent, "paragraphs">) | undefined> {
  const [row] = await reader.query<NotebookRow & Pick<NewContent, "paragraphs">>(
    `select ${NOTEBOOK_COLUMNS}, c.paragraphs from note o join note_content c on c.note_id = o.id where o.id = $1`,
    [id],
  );
  return row;
}

/** The JSON texts of the whole content. Undefined: the notebook or dashboard was deleted. */
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
  // Sorted here, because PostgreSQL would write the texts to disk to sort them.
  rows.sort((one, two) => one.position - two.position);
  const textsOf = (part: string): string[] => rows.filter((row) => row.part === part).map(({ text }) => text);
  return { paragraphs: textsOf("paragraph"), notebook: textsOf("notebook") };
}

/**
 * The parts of the content that an edit needs. The header is the first element and has no nested object, so a pattern
 * finds it without parsing the rest.
 */
export async function readContentForEdit(
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
  updateBytes(tx, id);
}

export function replaceParagraphs(tx: Tx, id: number, paragraphs: readonly Paragraph[]): void {
  tx.send("update note_content set paragraphs = $2 where note_id = $1", [id, JSON.stringify(paragraphs)]);
  updateBytes(tx, id);
}

/** Rewrites the stored array: the header, the rest of the file, and kept and new cells in the order of the edit. */
export function replaceCells(tx: Tx, id: number, { header, cells }: CellEdit): void {
  tx.send(
    `with part as materialized (
       select e.position, e.value::text as text
         from note_content c cross join json_array_elements(c.notebook) with ordinality e (value, position)
        where c.note_id = $1),
     -- Positions start at 1, kept cells at 0: the third and fourth element belong to the first cell.
     cell as (
       select n.position, coalesce(n.text, outputs.text || ',' || rest.text) as text
         from unnest($3::integer[], $4::text[]) with ordinality as n (kept, text, position)
         left join part outputs on outputs.position = 2 * n.kept + 3
         left join part rest on rest.position = 2 * n.kept + 4)
     update note_content set notebook = (
       '[' || $2 || ',' || (select p.text from part p where p.position = 2)
           || coalesce((select string_agg(',' || c.text, '' order by c.position) from cell c), '') || ']')::json
      where note_id = $1`,
    [
      id,
      JSON.stringify(header),
      cells.map((cell) => (typeof cell === "number" ? cell : null)),
      cells.map((cell) => (typeof cell === "number" ? null : `${cell.outputs},${cell.cell}`)),
    ],
  );
  updateBytes(tx, id);
}

/** PostgreSQL computes the size, so that the content is not read into this process. */
function updateBytes(tx: Tx, id: number): void {
  tx.send(
    `update note set bytes = (
       select octet_length(c.paragraphs::text) + coalesce(octet_length(c.notebook::text), 0)
         from note_content c where c.note_id = $1)
      where id = $1`,
    [id],
  );
}

/** Copies the content of a locked notebook to its clone and returns the paragraphs. */
export async function copyContent(tx: Tx, from: number, to: number): Promise<readonly Paragraph[]> {
  const [row] = await tx.query<Pick<NewContent, "paragraphs">>(
    `insert into note_content (note_id, paragraphs, notebook)
     select $2, paragraphs, notebook from note_content where note_id = $1 returning paragraphs`,
    [from, to],
  );
  if (row === undefined) throw new Error("a notebook has no content");
  updateBytes(tx, to);
  return row.paragraphs;
}
