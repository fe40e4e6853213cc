import { invalid } from "../../lib/fault.ts";
import type { CommandFiles } from "../execution/command-files.ts";
import { missingCause } from "../execution/run-log.ts";
import { unreachableNode, type OtherNodes } from "./other-nodes.ts";
import { type PublishedText, RESULT_NAME, logName } from "./published-text.ts";
import { hasEnded } from "../store/command-row.ts";
import type { CommandOutcome } from "../store/outcome.ts";
import { filePart, joined, NO_PART, textPart, type CommandText, type TextPart } from "./text-part.ts";

/** Returns the paths of a command's files on this node. */
export type CommandFilesOf = (accountId: number, commandId: number) => CommandFiles;

/**
 * The logs and outputs of commands. Attempts of this node are read from its files, those of other nodes from the account's
 * storage. If an attempt is not published yet, or the storage is unreachable, the fault names the node that has it.
 */
export interface CommandTexts {
  log(command: CommandOutcome): Promise<CommandText>;
  /** Throws if the log was removed, because an empty log would mean that nothing was logged. */
  retainedLog(command: CommandOutcome): Promise<CommandText>;
  /** The output of an unfinished command so far. */
  output(command: CommandOutcome): Promise<CommandText>;
  /** The output of the last attempt. Undefined: it was removed. */
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
  /** Undefined: there is none, or it was removed. */
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
    if (found === "unreachable") throw unreachableNode(nodeId);
    return found === "missing" ? undefined : found;
  };
  const logOf = (command: CommandOutcome, attempt: number): Promise<TextPart | undefined> =>
    partOf(command, attempt, "log", logName(attempt));
  const outputOf = (command: CommandOutcome, attempt: number): Promise<TextPart | undefined> =>
    partOf(command, attempt, "output", RESULT_NAME);
  /** The cause of a failed attempt of this node, if a full disk has kept it out of the log. */
  const missingCauseOf = async (command: CommandOutcome, attempt: number): Promise<TextPart | undefined> => {
    const cause = command.causes[attempt - 1] ?? null;
    if (cause === null || !nodes.isHere(command.nodes[attempt - 1])) return undefined;
    const { log: file } = commandFilesOf(command.accountId, command.id).attempt(attempt);
    return textPart(await missingCause(file, cause));
  };
  const log: CommandTexts["log"] = async (command) => {
    const parts = attemptsOf(command).flatMap((attempt) => [logOf(command, attempt), missingCauseOf(command, attempt)]);
    return joined(await Promise.all(parts));
  };
  return {
    log,
    async retainedLog(command) {
      const { status, attempt, logBytes, cause } = command;
      const isKept = !hasEnded(status) || attempt === 0 || (await logOf(command, attempt)) !== undefined;
      // An empty log is not published. The row has the cause of a command without a log.
      const wasNever = logBytes === 0 && (cause !== null) === nodes.isHere(command.nodes.at(-1));
      if (isKept || wasNever) return log(command);
      throw invalid("logs", "of this command have been removed from the server");
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
