import type { ResultRenderer } from "../../engines/arrow-result/result-renderer.ts";
import { findResult } from "../../engines/arrow-result/spool-result.ts";
import type { AttemptFiles } from "../execution/command-files.ts";
import { unreachableNode, type OtherNodes } from "../output/other-nodes.ts";
import type { ResultOwner } from "../store/outcome.ts";
import { filePart, type TextPart } from "../output/text-part.ts";
import type { CommandResult, CommandResults, LocalResults } from "./command-result.ts";
import { emptyResult, tableResult } from "./table-result.ts";
import { printedResult } from "./printed-result.ts";
import type { CommandFilesOf, CommandTexts } from "../output/command-text.ts";

/**
 * Finds the results of a kind of command. The kind decides where they are, not the files that exist: so a program cannot
 * pass off a file as rows, and a removed result is not taken for an empty one.
 */
export interface ResultSource {
  /** Reads the files of the last attempt. Undefined: they were removed. */
  local(command: ResultOwner, files: AttemptFiles): Promise<CommandResult | undefined>;
  /** Reads the text that another node has published. */
  published(text: TextPart, nodeId: string | null | undefined): CommandResult;
}

/** The standard output. */
export const printedResults: ResultSource = {
  async local(_, { output }) {
    const text = await filePart(output);
    return text === undefined ? undefined : printedResult(text);
  },
  published: (text) => printedResult(text),
};

/** Rows and columns. */
export function tableResults(renderer: ResultRenderer): ResultSource {
  return {
    async local({ accountId, resultBytes }, { folder }) {
      const spool = await findResult(folder);
      if (spool !== undefined) return tableResult(spool, renderer, accountId);
      return resultBytes === 0 ? emptyResult : undefined;
    },
    published: (text, nodeId) => printedResult(text, () => unreachableNode(nodeId)),
  };
}

export type ResultSourceOf = (command: ResultOwner) => ResultSource;

export function localResults(commandFilesOf: CommandFilesOf, sourceOf: ResultSourceOf): LocalResults {
  return {
    of(command) {
      const files = commandFilesOf(command.accountId, command.id).attempt(command.attempt);
      return sourceOf(command).local(command, files);
    },
  };
}

/** If another node ran the command and cannot be reached, the result is the text that it has published. */
export function commandResults(
  local: LocalResults,
  sourceOf: ResultSourceOf,
  texts: Pick<CommandTexts, "result">,
  nodes: Pick<OtherNodes, "isHere">,
): CommandResults {
  return {
    async of(command) {
      const nodeId = command.nodes.at(-1);
      if (nodes.isHere(nodeId)) return local.of(command);
      const text = await texts.result(command);
      return text === undefined ? undefined : sourceOf(command).published(text, nodeId);
    },
  };
}
