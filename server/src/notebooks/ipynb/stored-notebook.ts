/**
 * The parts of an `.ipynb` file (nbformat 4) besides the texts of its cells, as they are stored: metadata, outputs,
 * attachments, and everything that this product does not know. There is one cell for each paragraph, in the same order.
 */
export interface StoredNotebook {
  readonly nbformat_minor: number;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly cells: readonly StoredCell[];
  /** Fields of the file that the format does not define. */
  readonly [field: string]: unknown;
}

/** `source` is empty; its type says whether the file had a string or an array of lines. */
export type StoredCell = Readonly<Record<string, unknown>> & {
  readonly cell_type: CellType;
  readonly source: "" | readonly never[];
};

export const CELL_TYPES = ["code", "markdown", "raw"] as const;
export type CellType = (typeof CELL_TYPES)[number];

export const NBFORMAT = 4;
/** The first minor version in which cells have ids. */
export const MINOR_WITH_IDS = 5;
