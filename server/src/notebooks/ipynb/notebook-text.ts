import { setImmediate } from "node:timers/promises";
import { invalid } from "../../lib/fault.ts";
import type { ReadFile } from "./read-ipynb.ts";
import { NO_OUTPUTS, storedCell } from "./stored-notebook.ts";

/** A file can grow when it is written again: numbers such as 1e20 get longer. */
const MAX_CHARACTERS = 40 * 1024 * 1024;
/** Takes a few milliseconds to write. */
const PAUSE_AFTER_CHARACTERS = 256 * 1024;

/**
 * The text of the array in which a file is stored (stored-notebook.ts). It is written in pieces, so that a large file
 * does not delay other requests. `field` is the file's field in the request.
 */
export async function notebookText({ header, rest, cells }: ReadFile, field: string): Promise<string> {
  const parts = [JSON.stringify(header), JSON.stringify(rest)];
  let [written, paused] = [0, 0];
  const add = async (part: string): Promise<string> => {
    written += part.length;
    if (written > MAX_CHARACTERS) throw invalid(field, "must have at most 40 MiB when its numbers are written in full");
    if (written - paused > PAUSE_AFTER_CHARACTERS) {
      paused = written;
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
