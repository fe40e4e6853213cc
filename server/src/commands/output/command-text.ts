import { invalid } from "../../lib/fault.ts";
import type { CommandFiles } from "../execution/command-files.ts";
import { lastWordsMissing } from "../execution/run-log.ts";
import { elsewhere, type OtherNodes } from "./other-nodes.ts";
import { type PublishedText, RESULT_NAME, logName } from "./published-text.ts";
import { hasEnded } from "../store/command-row.ts";
import type { CommandOutcome } from "../store/outcome.ts";
import { filePart, joined, NO_PART, textPart, type CommandText, type TextPart } from "./text-part.ts";

/** Where the files of a command are on this node. */
export type CommandFilesOf = (accountId: number, commandId: number) => CommandFiles;

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
  /** Why an attempt of this node failed, where a full disk has kept that from its log. */
  const lastWordsOf = async (command: CommandOutcome, attempt: number): Promise<TextPart | undefined> => {
    const cause = command.causes[attempt - 1] ?? null;
    if (cause === null || !nodes.isHere(command.nodes[attempt - 1])) return undefined;
    const { log: file } = commandFilesOf(command.accountId, command.id).attempt(attempt);
    return textPart(await lastWordsMissing(file, cause));
  };
  const log: CommandTexts["log"] = async (command) => {
    const parts = attemptsOf(command).flatMap((attempt) => [logOf(command, attempt), lastWordsOf(command, attempt)]);
    return joined(await Promise.all(parts));
  };
  return {
    log,
    async keptLog(command) {
      const { status, attempt, logBytes, cause } = command;
      const isKept = !hasEnded(status) || attempt === 0 || (await logOf(command, attempt)) !== undefined;
      // Nothing is published of a log that is empty; of one that was never begun the reason is in the row.
      const wasNever = logBytes === 0 && (cause !== null) === nodes.isHere(command.nodes.at(-1));
      if (isKept || wasNever) return log(command);
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

function attemptsOf({ attempt }: CommandOutcome): number[] {
  return Array.from({ length: attempt }, (_, index) => index + 1);
}
