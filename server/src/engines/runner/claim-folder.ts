import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseProcessHandle, type ProcessHandle } from "../detached-process/process-handle.ts";
import { readFields } from "./json-fields.ts";
import { createOnce } from "./create-once.ts";
import { fileNames, render } from "./protocol.ts";

/**
 * The first claim of a folder is final: by the runner that will run it, or with `null` by the server, so that no runner
 * ever will. The server's claim is an empty file. Returns false if the folder was claimed before.
 */
export function claimFolder(folder: string, runner: ProcessHandle | null): boolean {
  return createOnce(join(folder, fileNames.taken), runner === null ? "" : render({ runner }));
}

/** Undefined: the folder is not claimed; null: the server has claimed it. */
export function readOwner(folder: string): ProcessHandle | null | undefined {
  let text: string;
  try {
    text = readFileSync(join(folder, fileNames.taken), "utf8");
  } catch {
    return undefined;
  }
  return text === "" ? null : (parseProcessHandle(readFields(text).value("runner")) ?? null);
}
