import type { CodeLanguage, Paragraph } from "../paragraphs.ts";
import { cellTypeOf, DEFAULT_LANGUAGE, kernelLanguage, newMetadata, sourceOf } from "./kernel-language.ts";
import { MINOR_WITH_IDS, NBFORMAT, type StoredCell, type StoredNotebook } from "./stored-notebook.ts";

/** The JSON text of the `.ipynb` file, in parts: a notebook with images can have tens of megabytes. */
export function* writeIpynb(paragraphs: readonly Paragraph[], stored: StoredNotebook | null): Generator<string> {
  const { cells, ...rest } = stored ?? storedNotebook(paragraphs);
  const kernel = kernelLanguage(rest.metadata) ?? DEFAULT_LANGUAGE;
  yield '{"cells":[';
  for (const [index, paragraph] of paragraphs.entries()) {
    const cell = cells[index];
    if (cell === undefined) throw new Error("a paragraph of the notebook has no cell");
    yield `${index === 0 ? "" : ","}${JSON.stringify({ ...cell, source: sourceLike(cell, paragraph, kernel) })}`;
  }
  yield `],${JSON.stringify({ ...rest, nbformat: NBFORMAT }).slice(1)}`;
}

/** As a string or as lines, whichever the imported file had. */
function sourceLike({ source }: StoredCell, paragraph: Paragraph, kernel: CodeLanguage): string | string[] {
  const text = sourceOf(paragraph, kernel);
  if (typeof source === "string") return text;
  return text === "" ? [] : text.split(/(?<=\n)/);
}

/** The cells of a notebook that was not imported. */
export function storedNotebook(paragraphs: readonly Paragraph[]): StoredNotebook {
  const cells = paragraphs.map((paragraph, index) => newCell(paragraph, `paragraph-${index + 1}`));
  return { metadata: newMetadata(paragraphs), nbformat_minor: MINOR_WITH_IDS, cells };
}

/** `id` is undefined in files of a version without ids. */
export function newCell({ language }: Paragraph, id: string | undefined): StoredCell {
  const type = cellTypeOf(language);
  return {
    cell_type: type,
    ...(id === undefined ? {} : { id }),
    metadata: {},
    ...(type === "code" ? { execution_count: null, outputs: [] } : {}),
    source: [],
  };
}
