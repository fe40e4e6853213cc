import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseProcessHandle, type ProcessHandle } from "../detached-process/process-handle.ts";
import { readFields } from "./fields.ts";
import { firstToLink, isFirst } from "./first-to-link.ts";
import { fileNames, render } from "./protocol.ts";

/**
 * Who takes a folder first has it for ever: the runner that will run it, or with `null` the server, so that no runner
 * ever will. A link appears with its whole content or not at all; the server's is empty, because that much can be
 * written to a full disk too.
 */
export function take(folder: string, runner: ProcessHandle | null): boolean {
  const path = join(folder, fileNames.taken);
  if (runner === null) return isFirst(() => closeSync(openSync(path, "wx", 0o600)));
  return firstToLink(path, render({ runner }));
}

/** Undefined: nobody; null: the server. */
export function readTaker(folder: string): ProcessHandle | null | undefined {
  let text: string;
  try {
    text = readFileSync(join(folder, fileNames.taken), "utf8");
  } catch {
    return undefined;
  }
  return text === "" ? null : (parseProcessHandle(readFields(text).value("runner")) ?? null);
}
