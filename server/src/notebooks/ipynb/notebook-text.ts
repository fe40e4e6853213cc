import { setImmediate } from "node:timers/promises";
import { invalid } from "../../lib/fault.ts";
import type { ParsedFile } from "./read-ipynb.ts";
import { NO_OUTPUTS, storedCell } from "./stored-notebook.ts";

/**
 * More than a request body can have, because rewriting makes some numbers longer: 1e20 becomes 100000000000000000000.
 */
const MAX_CHARACTERS = 40 * 1024 * 1024;
/** Writing this much takes a few milliseconds. */
const PAUSE_AFTER_CHARACTERS = 256 * 1024;

/**
 * The text of the array in which a file is stored (stored-notebook.ts). Other requests run between its pieces, so a
 * large file does not delay them. `field` is the file's field in the request.
 */
export async function notebookText({ header, rest, cells }: ParsedFile, field: string): Promise<string> {
  const parts = [JSON.stringify(header), JSON.stringify(rest)];
  let [written, writtenAtPause] = [0, 0];
  const add = async (part: string): Promise<string> => {
    written += part.length;
    if (written > MAX_CHARACTERS) {
      throw invalid(field, "must have at most 40 MiB with its numbers written in full: clear large outputs first");
    }
    if (written - writtenAtPause > PAUSE_AFTER_CHARACTERS) {
      writtenAtPause = written;
      await setImmediate();
    }
    return part;
  };
  for (const part of parts) await add(part);
  for (const { fields, outputs, hasLines } of cells) {
    const texts: string[] = [];
    for (const output of outputs ?? []) texts.push(await add(JSON.stringify(output)));
    const stored = storedCell(fields, {
      outputs: outputs === undefined ? NO_OUTPUTS : `[${texts.join(",")}]`,
      hasLines,
    });
    parts.push(stored.outputs, await add(stored.cell));
  }
  return `[${parts.join(",")}]`;
}
