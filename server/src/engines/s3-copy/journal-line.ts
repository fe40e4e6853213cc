/**
 * The lines of a copy's journal. The last `begin`, `done` or `void` of a name counts: an output that was begun again is
 * not done, even if an earlier attempt has finished it. `output` is the number of an output, unique in the journal.
 *
 * | line | means |
 * |---|---|
 * | `["id", id]` | the first line: names temporary files |
 * | `["boot", id]` | an attempt begins, while the machine has this boot id |
 * | `["begin", …names]` | these outputs may exist from now on |
 * | `["append", name, size, time]` | the file at the destination that the output continues; of size 0 if there was none |
 * | `["upload", uri, id]` | a multipart upload was created |
 * | `["closed", id]` | it was completed or aborted |
 * | `["temporary", uri]` | a temporary file may exist from now on |
 * | `["removed", uri]` | it was removed |
 * | `["row", output, name, …source]` | one source of a finished output that has several |
 * | `["done", name, bytes, size, output, digest, …source]` | the output is complete and verified; the source only if there is one |
 * | `["void", name]` | the output of an earlier attempt is not a part of this copy any more |
 * | `["manifest", name]` | the manifest may exist from now on |
 * | `["written", name]` | it is complete |
 * | `["complete"]` | all outputs are done: from now on, sources may be deleted |
 */
import type { FileHandle } from "node:fs/promises";
import { readJsonLines } from "../../lib/json-lines.ts";
import type { SourceFile } from "./plan/planned-output.ts";

export type JournalLine =
  | readonly ["begin", ...string[]]
  | readonly ["upload", string, string]
  | readonly ["id" | "boot" | "closed" | "temporary" | "removed" | "void" | "manifest" | "written", string]
  | readonly ["append", string, number, number]
  | readonly ["complete"]
  | readonly ["row", number, string, ...SourceColumns]
  | readonly ["done", string, number, number, number, string, ...(SourceColumns | [])];

export type SourceColumns = readonly [uri: string, size: number, etag: string | null, modifiedMs: number];

/** A source as the journal describes it. */
export type NotedSource = Pick<SourceFile, "uri" | "size" | "etag" | "modifiedMs">;

/** The journal is damaged, or was not written by a copy. */
export class JournalError extends Error {}

/** The columns of a line after its kind, one letter for each: s text, n number, o null. */
const SHAPES: Record<JournalLine[0], RegExp> = {
  id: /^s$/,
  boot: /^s$/,
  begin: /^s*$/,
  append: /^snn$/,
  upload: /^ss$/,
  closed: /^s$/,
  temporary: /^s$/,
  removed: /^s$/,
  row: /^nssn[so]n$/,
  done: /^snnns(?:sn[so]n)?$/,
  void: /^s$/,
  manifest: /^s$/,
  written: /^s$/,
  complete: /^$/,
};

export function columnsOf({ uri, size, etag, modifiedMs }: NotedSource): SourceColumns {
  return [uri, size, etag, modifiedMs];
}

export function sourceOf([uri, size, etag, modifiedMs]: SourceColumns): NotedSource {
  return { uri, size, etag, modifiedMs };
}

export interface ReadLine {
  /** The position after the line. */
  readonly end: number;
  readonly line: JournalLine;
}

/** Throws a `JournalError` at the first line that is not one of the table above. */
export async function* readJournalLines(handle: FileHandle, maxLineBytes?: number): AsyncGenerator<ReadLine> {
  try {
    for await (const { end, value } of readJsonLines(handle, maxLineBytes)) yield { end, line: checkLine(value) };
  } catch (error) {
    if (error instanceof JournalError || (error instanceof Error && "code" in error)) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new JournalError(`the journal of the copy cannot be read: ${reason}`, { cause: error });
  }
}

function checkLine(value: unknown): JournalLine {
  const [kind, ...columns] = Array.isArray(value) ? (value as unknown[]) : [];
  const shape = typeof kind === "string" && Object.hasOwn(SHAPES, kind) ? SHAPES[kind as JournalLine[0]] : undefined;
  if (shape?.test(columns.map(letterOf).join("")) === true) return value as JournalLine; // checked by its shape
  throw new JournalError("the journal of the copy contains a line that no copy writes");
}

function letterOf(column: unknown): string {
  if (typeof column === "string") return "s";
  if (typeof column === "number") return "n";
  return column === null ? "o" : "?";
}
