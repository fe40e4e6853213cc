import type { CodeLanguage } from "../paragraphs.ts";

/**
 * An imported `.ipynb` file (nbformat 4) as it is stored besides the texts of its cells: one JSON array of the header, the
 * rest of the file, and then, for each paragraph in their order, the outputs of its cell and the rest of its cell.
 * PostgreSQL takes the array apart. So outputs, which can have tens of megabytes, are never parsed on the way to a reply.
 */
export interface NotebookHeader {
  /** The language of code cells that name none. */
  readonly kernel: CodeLanguage;
  /** The number in the id of the next new cell; null: cells have no ids in the version of the file. */
  readonly nextId: number | null;
}

/** The JSON texts of an array as above. */
export interface NotebookTexts {
  readonly header: string;
  /** An object with everything but the cells. */
  readonly rest: string;
  readonly cells: readonly StoredCell[];
}

export interface StoredCell {
  /** `null` if the cell has none. */
  readonly outputs: string;
  /** An object with everything but outputs. It ends with an empty `source`, whose type is that of the file. */
  readonly cell: string;
}

export const CELL_TYPES = ["code", "markdown", "raw"] as const;
export type CellType = (typeof CELL_TYPES)[number];

export const NBFORMAT = 4;
/** The first minor version in which cells have ids. */
export const MINOR_WITH_IDS = 5;

/** The parts of a stored array; undefined: the notebook was not imported. */
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

/** `outputs` is their JSON text. The format allows a source as one text or as lines. */
export function storedCell(
  { source: _source, ...fields }: Readonly<Record<string, unknown>>,
  { outputs, hasLines }: { outputs: string; hasLines: boolean },
): StoredCell {
  return { outputs, cell: JSON.stringify({ ...fields, source: hasLines ? [] : "" }) };
}

/** The JSON text of the whole cell, in parts. */
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
