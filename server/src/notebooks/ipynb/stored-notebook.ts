/**
 * The stored form of an imported `.ipynb` file (nbformat 4), without the texts of its cells, which are paragraphs. It
 * is one JSON array: `[header, rest of the file, outputs of cell 1, rest of cell 1, outputs of cell 2, …]`, with one
 * cell for each paragraph. PostgreSQL splits the array into texts, so that this process never parses stored outputs,
 * which can have tens of megabytes.
 */
import type { CodeLanguage } from "../paragraphs.ts";

export interface NotebookHeader {
  /** The language of code cells that do not name one. */
  readonly kernel: CodeLanguage;
  /** The number for the id of the next new cell; null: in the file's version of the format, cells have no ids. */
  readonly nextId: number | null;
}

/** The elements of the stored array, as JSON texts. */
export interface NotebookTexts {
  readonly header: string;
  /** An object with everything but the cells. */
  readonly rest: string;
  readonly cells: readonly StoredCell[];
}

export interface StoredCell {
  /** `null` if the cell has none. */
  readonly outputs: string;
  /** An object with everything but outputs. It ends with an empty `source`: an array or a string, as in the file. */
  readonly cell: string;
}

export const CELL_TYPES = ["code", "markdown", "raw"] as const;
export type CellType = (typeof CELL_TYPES)[number];

export const NBFORMAT = 4;
/** The first minor version in which cells have ids. */
export const MINOR_WITH_IDS = 5;

/** Names the elements of a stored array. Undefined: the notebook was not imported. */
export function partsOf([header, rest, ...cells]: readonly string[]): NotebookTexts | undefined {
  if (header === undefined || rest === undefined) return undefined;
  const pairs = Array.from({ length: cells.length / 2 }, (_pair, index) => ({
    outputs: cells[2 * index] ?? NO_OUTPUTS,
    cell: cells[2 * index + 1] ?? "",
  }));
  return { header, rest, cells: pairs };
}

export const NO_OUTPUTS = "null";
const EMPTY_LINES = '"source":[]}';
const EMPTY_TEXT = '"source":""}';

/** `outputs` is a JSON text. `hasLines`: the source is an array of lines, not one text. */
export function storedCell(
  { source: _source, ...fields }: Readonly<Record<string, unknown>>,
  { outputs, hasLines }: { outputs: string; hasLines: boolean },
): StoredCell {
  return { outputs, cell: JSON.stringify({ ...fields, source: hasLines ? [] : "" }) };
}

/** The JSON text of the whole cell, in chunks. */
export function* cellWithSource({ outputs, cell }: StoredCell, source: string): Generator<string> {
  const hasLines = cell.endsWith(EMPTY_LINES);
  yield cell.slice(0, -(hasLines ? EMPTY_LINES : EMPTY_TEXT).length);
  if (outputs !== NO_OUTPUTS) {
    yield '"outputs":';
    yield outputs;
    yield ",";
  }
  yield `"source":${JSON.stringify(hasLines ? linesOf(source) : source)}}`;
}

function linesOf(source: string): string[] {
  if (source === "") return [];
  const lines = source.split("\n");
  const last = lines.pop() ?? "";
  return [...lines.map((line) => `${line}\n`), ...(last === "" ? [] : [last])];
}
