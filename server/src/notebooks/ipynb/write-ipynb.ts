import type { Paragraph } from "../paragraphs.ts";
import { cellTypeOf, newMetadata, sourceOf } from "./kernel-language.ts";
import {
  cellWithSource,
  MINOR_WITH_IDS,
  NBFORMAT,
  NO_OUTPUTS,
  partsOf,
  storedCell,
  type NotebookHeader,
  type StoredCell,
} from "./stored-notebook.ts";

/** A notebook as the store returns it: JSON texts that need no further validation. */
export interface ContentTexts {
  /** One text for each paragraph. */
  readonly paragraphs: readonly string[];
  /** One text for each element of the stored array (stored-notebook.ts); empty: the notebook was not imported. */
  readonly notebook: readonly string[];
}

/** The JSON text of the `.ipynb` file, in chunks: a notebook with images can have tens of megabytes. */
export function* writeIpynb({ paragraphs, notebook }: ContentTexts): Generator<string> {
  const { kernel, rest, cells } = readStored(notebook) ?? newFile(paragraphs.map(readParagraph));
  yield '{"cells":[';
  for (const [index, text] of paragraphs.entries()) {
    const cell = cells[index];
    if (cell === undefined) throw new Error("a paragraph of the notebook has no cell");
    if (index > 0) yield ",";
    yield* cellWithSource(cell, sourceOf(readParagraph(text), kernel));
  }
  yield `],${rest.slice(1)}`;
}

function readParagraph(text: string): Paragraph {
  return JSON.parse(text) as Paragraph; // validated before it was stored
}

type WritableFile = Pick<NotebookHeader, "kernel"> & { rest: string; cells: readonly StoredCell[] };

function readStored(notebook: readonly string[]): WritableFile | undefined {
  const stored = partsOf(notebook);
  if (stored === undefined) return undefined;
  const { kernel } = JSON.parse(stored.header) as NotebookHeader; // written by the import
  return { ...stored, kernel };
}

/** The file of a notebook that was not imported. */
function newFile(paragraphs: readonly Paragraph[]): WritableFile {
  const { kernel, metadata } = newMetadata(paragraphs);
  return {
    kernel,
    rest: JSON.stringify({ metadata, nbformat: NBFORMAT, nbformat_minor: MINOR_WITH_IDS }),
    cells: paragraphs.map((paragraph, index) => newCell(paragraph, `paragraph-${index + 1}`)),
  };
}

/** `id` is undefined in files of a version without ids. */
export function newCell({ language }: Paragraph, id: string | undefined): StoredCell {
  const type = cellTypeOf(language);
  const isCode = type === "code";
  const fields = {
    cell_type: type,
    ...(isCode ? { execution_count: null } : {}),
    ...(id === undefined ? {} : { id }),
    metadata: {},
  };
  return storedCell(fields, { outputs: isCode ? "[]" : NO_OUTPUTS, hasLines: true });
}
