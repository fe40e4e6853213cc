import type { ResultRenderer } from "../../engines/arrow-result/result-renderer.ts";
import { findResult } from "../../engines/arrow-result/spool-result.ts";
import type { AttemptFiles } from "../execution/command-files.ts";
import { elsewhere } from "../output/other-nodes.ts";
import type { ResultOwner } from "../store/outcome.ts";
import { filePart, type TextPart } from "../output/text-part.ts";
import type { CommandResult } from "./command-result.ts";
import { emptyResult } from "./empty-result.ts";
import { printedResult } from "./printed-result.ts";
import { tableResult } from "./table-result.ts";

/**
 * Where the results of a kind of command come from. The kind decides, not the files that are there: a program cannot put
 * rows in the place of what it printed, and a result that was deleted is not taken for one that never was.
 */
export interface ResultSource {
  /** From the files of the last attempt. Undefined: they are deleted. */
  local(command: ResultOwner, files: AttemptFiles): Promise<CommandResult | undefined>;
  /** From the text that another node has published. */
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
    published: (text, nodeId) => printedResult(text, () => elsewhere(nodeId)),
  };
}
