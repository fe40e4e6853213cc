import type { Paragraph } from "../paragraphs.ts";
import { cellTypeOf } from "./kernel-language.ts";
import type { NotebookHeader, StoredCell } from "./stored-notebook.ts";
import { newCell } from "./write-ipynb.ts";

/** The cells of an imported notebook after its paragraphs were replaced. */
export interface CellEdit {
  readonly header: NotebookHeader;
  /** For each paragraph, the index of the old cell that it keeps, or a new cell. */
  readonly cells: readonly (number | StoredCell)[];
}

/**
 * Finds the cell of each edited paragraph. Paragraphs have no ids, so unchanged ones at the start and at the end are
 * recognised by their text; those between are matched by position. A cell keeps its outputs when its text changes, as
 * in Jupyter, until it is run again. Undefined: no cell changes.
 */
export function editCells(
  header: NotebookHeader,
  before: readonly Paragraph[],
  after: readonly Paragraph[],
): CellEdit | undefined {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && isSame(before[start], after[start])) start += 1;
  let end = 0;
  while (end < shorter - start && isSame(before.at(-1 - end), after.at(-1 - end))) end += 1;
  let { nextId } = header;
  const cells = after.map((paragraph, index) => {
    const kept = cellIndex(index);
    const previous = before[kept];
    // A cell of another type needs other fields, so it is not kept.
    if (previous !== undefined && cellTypeOf(previous.language) === cellTypeOf(paragraph.language)) return kept;
    const id = nextId === null ? undefined : `paragraph-${nextId}`;
    if (nextId !== null) nextId += 1;
    return newCell(paragraph, id);
  });
  const isUnchanged = after.length === before.length && cells.every((cell, index) => cell === index);
  return isUnchanged ? undefined : { header: { ...header, nextId }, cells };

  /** The index of the old cell at this paragraph; -1: the paragraph is new. */
  function cellIndex(index: number): number {
    if (index < start) return index;
    const fromEnd = after.length - index;
    if (fromEnd <= end) return before.length - fromEnd;
    return index < before.length - end ? index : -1;
  }
}

function isSame(one: Paragraph | undefined, two: Paragraph | undefined): boolean {
  return one?.language === two?.language && one?.text === two?.text;
}
