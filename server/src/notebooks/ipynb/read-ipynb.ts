/**
 * Reads the JSON of an `.ipynb` file (nbformat 4). The texts of its cells become paragraphs; everything else is kept
 * for the export. Refuses files that Jupyter would not open, that are too large, or whose language notebooks cannot
 * have.
 */
import { invalid } from "../../lib/fault.ts";
import { isRecord } from "../../lib/is-record.ts";
import { checkTexts, MAX_PARAGRAPHS, type CodeLanguage, type Paragraph } from "../paragraphs.ts";
import { kernelLanguage, paragraphOf } from "./kernel-language.ts";
import { CELL_TYPES, MINOR_WITH_IDS, NBFORMAT, type CellType, type NotebookHeader } from "./stored-notebook.ts";

export interface ParsedNotebook {
  readonly paragraphs: readonly Paragraph[];
  readonly file: ParsedFile;
}

/** Everything besides the texts of the cells. */
export interface ParsedFile {
  readonly header: NotebookHeader;
  /** The fields of the file besides the cells. */
  readonly rest: Json;
  readonly cells: readonly ParsedCell[];
}

interface ParsedCell {
  readonly fields: Json;
  /** Undefined: the cell has no such field. */
  readonly outputs: readonly unknown[] | undefined;
  /** Whether the file has the source as an array of lines, not as one text. */
  readonly hasLines: boolean;
}

type Json = Readonly<Record<string, unknown>>;

/** `field` is the name of the file's field in the request. */
export function readIpynb(file: unknown, field: string): ParsedNotebook {
  if (typeof file === "string") throw invalid(field, "must be the JSON of an .ipynb file as an object, not as text");
  if (!isRecord(file)) throw invalid(field, "must be the JSON object of an .ipynb file");
  const { cells, ...rest } = file;
  if (rest.nbformat !== NBFORMAT) {
    throw invalid(`${field}.nbformat`, "must be 4: convert the file with jupyter nbconvert --to notebook --nbformat 4");
  }
  const minor = file.nbformat_minor ?? 0;
  if (!isCount(minor)) throw invalid(`${field}.nbformat_minor`, "must be an integer of at least 0");
  const metadata = file.metadata ?? {};
  if (!isRecord(metadata)) throw invalid(`${field}.metadata`, "must be an object");
  if (!Array.isArray(cells)) throw invalid(`${field}.cells`, "must be an array of cells");
  if (cells.length > MAX_PARAGRAPHS) throw invalid(`${field}.cells`, `must have at most ${MAX_PARAGRAPHS} entries`);
  const kernel = kernelLanguage(metadata);
  if (kernel === undefined) {
    throw invalid(
      `${field}.metadata.kernelspec.language`,
      "must be python, scala, r or sql: notebooks cannot run other languages",
    );
  }
  const read = cells.map((cell: unknown, index) => readCell(cell, `${field}.cells[${index}]`, kernel));
  const paragraphs = read.map(({ paragraph }) => paragraph);
  checkTexts(paragraphs, (index) => `${field}.cells[${index}].source`);
  const nextId = minor < MINOR_WITH_IDS ? null : nextCellId(read.map(({ cell }) => cell.fields.id));
  return {
    paragraphs,
    file: {
      header: { kernel, nextId },
      rest: { ...rest, metadata, nbformat_minor: minor },
      cells: read.map(({ cell }) => cell),
    },
  };
}

/** The ids of new cells are `paragraph-<number>`. Returns the first number after those that the file already has. */
function nextCellId(ids: readonly unknown[]): number {
  return ids.reduce<number>((next, id) => {
    const number = typeof id === "string" ? /^paragraph-(\d{1,9})$/.exec(id)?.[1] : undefined;
    return number === undefined ? next : Math.max(next, Number(number) + 1);
  }, 1);
}

function readCell(cell: unknown, field: string, kernel: CodeLanguage): { paragraph: Paragraph; cell: ParsedCell } {
  if (!isRecord(cell)) throw invalid(field, "must be an object");
  const type = cellType(cell.cell_type);
  if (type === undefined) throw invalid(`${field}.cell_type`, `must be one of ${CELL_TYPES.join(", ")}`);
  const source = readSource(cell.source, `${field}.source`);
  if (cell.metadata !== undefined && !isRecord(cell.metadata)) throw invalid(`${field}.metadata`, "must be an object");
  const read = type === "code" ? readOutputs(cell, field) : { fields: cell, outputs: undefined };
  return { paragraph: paragraphOf(type, source, kernel), cell: { ...read, hasLines: Array.isArray(cell.source) } };
}

function cellType(given: unknown): CellType | undefined {
  return CELL_TYPES.find((type) => type === given);
}

/** The format allows one string, or an array of strings that are joined without separators. */
function readSource(source: unknown, field: string): string {
  const parts: unknown[] = Array.isArray(source) ? source : [source];
  const text = parts.map((part) => {
    if (typeof part !== "string") throw invalid(field, "must be a string or an array of strings");
    return part;
  });
  const joined = text.join("");
  if (joined.includes("\u0000")) throw invalid(field, "must not contain U+0000");
  if (!joined.isWellFormed()) throw invalid(field, "must be well-formed Unicode, without lone surrogates");
  return joined;
}

function readOutputs({ outputs, ...fields }: Json, field: string): Pick<ParsedCell, "fields" | "outputs"> {
  const { execution_count: count = null } = fields;
  if (count !== null && !isCount(count))
    throw invalid(`${field}.execution_count`, "must be null or an integer of at least 0");
  if (outputs === undefined) return { fields, outputs };
  if (!Array.isArray(outputs)) throw invalid(`${field}.outputs`, "must be an array");
  for (const [index, output] of outputs.entries()) {
    const type: unknown = isRecord(output) ? output.output_type : undefined;
    if (typeof type === "string" && OUTPUT_TYPES.has(type)) continue;
    throw invalid(`${field}.outputs[${index}].output_type`, `must be one of ${[...OUTPUT_TYPES].join(", ")}`);
  }
  return { fields, outputs };
}

const OUTPUT_TYPES: ReadonlySet<string> = new Set(["stream", "display_data", "execute_result", "error"]);

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
