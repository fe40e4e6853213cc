import { openPlainFile, readPieces } from "../lib/plain-file.ts";
import { invalid } from "../lib/fault.ts";
import type { CommandFiles } from "./command-files.ts";
import { hasEnded } from "./store/command-row.ts";
import type { CommandOutcome } from "./store/outcome.ts";

/** For handlers: where the files of a command are on this node. */
export interface WithCommandFiles {
  commandFilesOf: (accountId: number, commandId: number) => CommandFiles;
}

/** Bytes that were measured and can be read, from wherever they are. */
export interface TextPart {
  readonly size: number;
  /** Within what was measured. */
  read(start: number, end: number): AsyncIterable<Buffer>;
  /** Where it is all of a file of this node. */
  readonly path?: string;
}

/**
 * The log, or the output, of all attempts one behind the other: files only ever grow, so an offset that a client holds
 * keeps its meaning also when the command is run again.
 */
export interface CommandText {
  readonly parts: readonly TextPart[];
  readonly size: number;
}

export const NO_TEXT: CommandText = { parts: [], size: 0 };

/** Refuses where the log is kept no longer: an empty one would tell that nothing was said. */
export async function keptLogText(files: CommandFiles, command: CommandOutcome): Promise<CommandText> {
  const { status, attempt } = command;
  if (hasEnded(status) && attempt > 0 && (await filePart(files.log(attempt))) === undefined) {
    throw invalid("logs", "of this command are not kept any more");
  }
  return logText(files, attempt);
}

export function logText(files: CommandFiles, lastAttempt: number): Promise<CommandText> {
  return filesText(attempts(lastAttempt).map((number) => files.attempt(number).log));
}

export function outputText(files: CommandFiles, lastAttempt: number): Promise<CommandText> {
  return filesText(attempts(lastAttempt).map((number) => files.attempt(number).output));
}

/** The output of the last attempt alone: what it printed is the result. Undefined: the file is not there any more. */
export function resultText(files: CommandFiles, lastAttempt: number): Promise<TextPart | undefined> {
  return filePart(files.output(lastAttempt));
}

/** What was measured, from an offset on. */
export async function* readText({ parts }: CommandText, offset = 0, limit = Infinity): AsyncGenerator<Buffer> {
  let [skip, left] = [offset, limit];
  for (const part of parts) {
    const start = Math.min(skip, part.size);
    const end = Math.min(part.size, start + left);
    skip -= start;
    left -= end - start;
    if (end > start) yield* part.read(start, end);
  }
}

/** Undefined: there is no such file. It is opened when it is read: whoever never begins leaves none open. */
export async function filePart(path: string): Promise<TextPart | undefined> {
  const file = await openPlainFile(path);
  await file?.handle.close();
  return file === undefined ? undefined : { size: file.size, path, read: (start, end) => readFile(path, start, end) };
}

async function* readFile(path: string, start: number, end: number): AsyncGenerator<Buffer> {
  const file = await openPlainFile(path);
  if (file === undefined) throw new Error("a file of a command was taken away while it was read");
  try {
    yield* readPieces(file, start, end);
  } finally {
    await file.handle.close();
  }
}

async function filesText(paths: readonly string[]): Promise<CommandText> {
  const parts = await Promise.all(paths.map(filePart));
  return joined(parts.filter((part) => part !== undefined));
}

function joined(parts: readonly TextPart[]): CommandText {
  return { parts, size: parts.reduce((sum, { size }) => sum + size, 0) };
}

function attempts(last: number): number[] {
  return Array.from({ length: last }, (_, index) => index + 1);
}
