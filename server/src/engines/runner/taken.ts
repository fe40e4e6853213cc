import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseProcessHandle, type ProcessHandle } from "../detached-process/process-handle.ts";
import { readFields } from "./fields.ts";
import { fileNames, render } from "./protocol.ts";

/**
 * Who takes a folder first has it for ever: the runner that will run it, or with `null` the server, so that no runner
 * ever will. A link appears with its whole content or not at all.
 */
export function take(folder: string, runner: ProcessHandle | null): boolean {
  const own = join(folder, `${fileNames.taken}.${process.pid}`);
  writeFileSync(own, render({ runner }), { mode: 0o600, flush: true }); // whoever finds it after a power cut can read it
  try {
    linkSync(own, join(folder, fileNames.taken));
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(own, { force: true });
  }
}

/** Undefined: nobody; null: the server. */
export function readTaker(folder: string): ProcessHandle | null | undefined {
  let text: string;
  try {
    text = readFileSync(join(folder, fileNames.taken), "utf8");
  } catch {
    return undefined;
  }
  return parseProcessHandle(readFields(text).value("runner")) ?? null;
}
