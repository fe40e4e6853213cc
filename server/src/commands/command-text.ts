import { openPlainFile, readPieces } from "../lib/plain-file.ts";
import { invalid } from "../lib/fault.ts";
import type { CommandFiles } from "./command-files.ts";
import { elsewhere, type OtherNodes } from "./other-nodes.ts";
import type { PublishedText } from "./published-text.ts";
import { logName, RESULT_NAME } from "./publishing/publication.ts";
import { hasEnded } from "./store/command-row.ts";
import type { CommandOutcome } from "./store/outcome.ts";

/** Where the files of a command are on this node. */
export type CommandFilesOf = (accountId: number, commandId: number) => CommandFiles;

export interface WithCommandFiles {
  commandFilesOf: CommandFilesOf;
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
const NO_PART: TextPart = { size: 0, read: () => readText(NO_TEXT) };

/**
 * What commands have said and printed. Attempts that this node ran are read from its own files, those of others from
 * what their nodes have published; where that is not there yet, or nowhere that we reach, the fault names the node.
 */
export interface CommandTexts {
  log(command: CommandOutcome): Promise<CommandText>;
  /** Refuses where the log is kept no longer: an empty one would tell that nothing was said. */
  keptLog(command: CommandOutcome): Promise<CommandText>;
  /** What an unfinished command has printed so far. */
  output(command: CommandOutcome): Promise<CommandText>;
  /** What the last attempt alone has printed. Undefined: it is not kept any more. */
  result(command: CommandOutcome): Promise<TextPart | undefined>;
}

/** For handlers: their services have it under this name. */
export interface WithCommandTexts {
  commandTexts: CommandTexts;
}

export interface CommandTextOptions {
  readonly commandFilesOf: CommandFilesOf;
  readonly nodes: Pick<OtherNodes, "isHere">;
  readonly published: PublishedText;
}

export function commandTexts({ commandFilesOf, nodes, published }: CommandTextOptions): CommandTexts {
  /** Undefined: there is none (any more). */
  const partOf = async (
    command: CommandOutcome,
    attempt: number,
    file: "log" | "output",
    name: string,
  ): Promise<TextPart | undefined> => {
    const nodeId = command.nodes[attempt - 1];
    if (nodes.isHere(nodeId)) return filePart(commandFilesOf(command.accountId, command.id).attempt(attempt)[file]);
    const isOver = attempt < command.attempt || hasEnded(command.status);
    const found = isOver && !command.unpublished.includes(attempt) ? await published(command, name) : "unreachable";
    if (found === "unreachable") throw elsewhere(nodeId);
    return found === "missing" ? undefined : found;
  };
  const logOf = (command: CommandOutcome, attempt: number): Promise<TextPart | undefined> =>
    partOf(command, attempt, "log", logName(attempt));
  const outputOf = (command: CommandOutcome, attempt: number): Promise<TextPart | undefined> =>
    partOf(command, attempt, "output", RESULT_NAME);
  const log: CommandTexts["log"] = async (command) =>
    joined(await Promise.all(attemptsOf(command).map((attempt) => logOf(command, attempt))));
  return {
    log,
    async keptLog(command) {
      const { status, attempt, logBytes, cause } = command;
      const isKept = !hasEnded(status) || attempt === 0 || (await logOf(command, attempt)) !== undefined;
      // Nothing is published of a log that is empty.
      if (isKept || (logBytes === 0 && cause === null && !nodes.isHere(command.nodes.at(-1)))) return log(command);
      throw invalid("logs", "of this command are not kept any more");
    },
    output: async (command) =>
      joined(await Promise.all(attemptsOf(command).map((attempt) => outputOf(command, attempt)))),
    async result(command) {
      const found = await outputOf(command, command.attempt);
      const isEmpty = command.resultBytes === 0 && !nodes.isHere(command.nodes.at(-1));
      return found ?? (isEmpty ? NO_PART : undefined);
    },
  };
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

function joined(found: readonly (TextPart | undefined)[]): CommandText {
  const parts = found.filter((part) => part !== undefined);
  return { parts, size: parts.reduce((sum, { size }) => sum + size, 0) };
}

function attemptsOf({ attempt }: CommandOutcome): number[] {
  return Array.from({ length: attempt }, (_, index) => index + 1);
}
