import { readTail } from "../../lib/plain-file.ts";

/** A cause is one line, and never this long. */
const TAIL_BYTES = 4096;

/**
 * What a log lacks of the reason why its attempt failed: nothing where the runner has written it down already. `more` is
 * said behind it in any case. Where a full disk keeps it from the file it is read from the row, by the same rule.
 */
export async function lastWordsMissing(logFile: string, cause: string, more = ""): Promise<string> {
  const tail = await readTail(logFile, TAIL_BYTES);
  if (more === "" && tail.includes(`headgate: ${cause}`)) return "";
  const newLine = tail === "" || tail.endsWith("\n") ? "" : "\n";
  return `${newLine}headgate: ${cause}${more}\n`;
}
