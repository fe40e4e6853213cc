import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ResultColumn } from "../../engines/arrow-result/spool-result.ts";

/**
 * Where a script stands, for the next Headgate: written before each statement, so that one is never started twice. It
 * need not survive the machine, because the server that runs the statement does not either.
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

  async write(state: ScriptState): Promise<void> {
    await writeFile(`${this.#path}.new`, JSON.stringify(state), { mode: 0o600 });
    await rename(`${this.#path}.new`, this.#path);
  }
}
