import type { ResultRenderer } from "../../engines/arrow-result/result-renderer.ts";
import { findResult } from "../../engines/arrow-result/spool-result.ts";
import type { CommandFilesOf, CommandTexts } from "../command-text.ts";
import { elsewhere, type OtherNodes } from "../other-nodes.ts";
import { hasTable } from "../queue/choose-executor.ts";
import { filePart } from "../text-part.ts";
import type { CommandResults, LocalResults } from "./command-result.ts";
import { emptyResult } from "./empty-result.ts";
import { printedResult } from "./printed-result.ts";
import { tableResult } from "./table-result.ts";

/**
 * Which kind of result a command has is decided by what decided how it ran, never by which files are there: a program
 * cannot put rows in the place of what it printed, and a result that is gone is not taken for one that never was.
 */
export function localResults(commandFilesOf: CommandFilesOf, renderer: ResultRenderer): LocalResults {
  return {
    async of(command) {
      const files = commandFilesOf(command.accountId, command.id).attempt(command.attempt);
      if (!hasTable(command)) {
        const output = await filePart(files.output);
        return output === undefined ? undefined : printedResult(output);
      }
      const spool = await findResult(files.folder);
      if (spool !== undefined) return tableResult(spool, renderer, command.accountId);
      return command.resultBytes === 0 ? emptyResult : undefined;
    },
  };
}

/** Of what another node ran, and that node cannot be asked, there is the text that it has published. */
export function commandResults(
  local: LocalResults,
  texts: Pick<CommandTexts, "result">,
  nodes: Pick<OtherNodes, "isHere">,
): CommandResults {
  return {
    async of(command) {
      const nodeId = command.nodes.at(-1);
      if (nodes.isHere(nodeId)) return local.of(command);
      const output = await texts.result(command);
      if (output === undefined) return undefined;
      return hasTable(command) ? printedResult(output, () => elsewhere(nodeId)) : printedResult(output);
    },
  };
}
