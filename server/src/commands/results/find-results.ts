import type { CommandFilesOf, CommandTexts } from "../output/command-text.ts";
import type { OtherNodes } from "../output/other-nodes.ts";
import type { ResultOwner } from "../store/outcome.ts";
import type { CommandResults, LocalResults } from "./command-result.ts";
import type { ResultSource } from "./result-source.ts";

export type ResultSourceOf = (command: ResultOwner) => ResultSource;

export function localResults(commandFilesOf: CommandFilesOf, sourceOf: ResultSourceOf): LocalResults {
  return {
    of(command) {
      const files = commandFilesOf(command.accountId, command.id).attempt(command.attempt);
      return sourceOf(command).local(command, files);
    },
  };
}

/** If another node ran the command and cannot be asked, its result is the text that it has published. */
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
