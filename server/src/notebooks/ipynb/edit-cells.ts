import type { Paragraph } from "../paragraphs.ts";
import { cellTypeOf } from "./kernel-language.ts";
import { MINOR_WITH_IDS, type StoredCell, type StoredNotebook } from "./stored-notebook.ts";
import { newCell } from "./write-ipynb.ts";

/**
 * The cells of an imported notebook after its paragraphs were replaced. Paragraphs have no ids, so unchanged ones at
 * the start and at the end are recognised by their text; those between are matched by position. A cell keeps its outputs
 * when its text changes, as in Jupyter, until it is run again.
 */
export function editCells(
  stored: StoredNotebook,
  before: readonly Paragraph[],
  after: readonly Paragraph[],
): StoredNotebook {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && isSame(before[start], after[start])) start += 1;
  let end = 0;
  while (end < most - start && isSame(before.at(-1 - end), after.at(-1 - end))) end += 1;
  const newId = idsBeside(stored);
  const cells = after.map((paragraph, index): StoredCell => {
    const cell = stored.cells[cellIndex(index)];
    return cell?.cell_type === cellTypeOf(paragraph.language) ? cell : newCell(paragraph, newId());
  });
  return { ...stored, cells };

  /** -1: the paragraph is new. */
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

/** Ids that no cell has; undefined in files of a version without ids. */
function idsBeside({ nbformat_minor: minor, cells }: StoredNotebook): () => string | undefined {
  if (minor < MINOR_WITH_IDS) return () => undefined;
  const taken = new Set(cells.map(({ id }) => id));
  let number = 0;
  return () => {
    do number += 1;
    while (taken.has(`paragraph-${number}`));
    return `paragraph-${number}`;
  };
}
