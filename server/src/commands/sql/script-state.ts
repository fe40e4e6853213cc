import { open, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ResultColumn } from "../../engines/arrow-result/spool-result.ts";

/**
 * Where a script stands, for the next Headgate: written before each statement, so that one is never started twice. Where
 * the server is somebody else's it has to survive the machine, as the statement does; ours end with it.
 */
export interface ScriptState {
  readonly version: 1;
  /** The warm server's name. */
  readonly server: string;
  readonly session: { readonly id: string; readonly serverSideId: string | undefined };
  /** From 0. */
  readonly statement: number;
  readonly operationId: string;
  /** Of the statement's result, once they are known. */
  readonly columns: readonly ResultColumn[] | null;
}

export class ScriptStateFile {
  readonly #path: string;

  constructor(folder: string) {
    this.#path = join(folder, "script.json");
  }

  /** Undefined: no statement was ever started. */
  async read(): Promise<ScriptState | undefined> {
    try {
      return JSON.parse(await readFile(this.#path, "utf8")) as ScriptState; // written below, appears whole
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
      throw error;
    }
  }

  async write(state: ScriptState, { survivesMachine = false } = {}): Promise<void> {
    await writeFile(`${this.#path}.new`, JSON.stringify(state), { mode: 0o600, flush: survivesMachine });
    await rename(`${this.#path}.new`, this.#path);
    if (survivesMachine) await syncFolder(dirname(this.#path));
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
