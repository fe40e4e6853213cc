import { readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ResultColumn } from "../../engines/arrow-result/spool-result.ts";
import { flushFolder } from "../../lib/private-file.ts";
import type { RunOutcome } from "../execution/executor.ts";

/** The handle in the row of the command, for the next server. */
export interface SqlHandle {
  readonly kind: "sql";
  /** The boot id of the machine when the script began. */
  readonly bootId: string;
}

/**
 * The position of a script, for the next server. It is written before each statement, so that no statement is started twice.
 * On a remote server a statement survives a restart of this machine, so the file must survive it, too. A local warm server
 * does not survive it, so its file may be lost.
 */
export interface ScriptState {
  readonly version: 1;
  /** The warm server's name. */
  readonly server: string;
  readonly session: { readonly id: string; readonly serverSideId: string | undefined };
  /** From 0. */
  readonly statement: number;
  readonly operationId: string;
  /** The columns of the statement's result, once they are known. */
  readonly columns: readonly ResultColumn[] | null;
  /** How the script failed or was cancelled, once it had a session. Written before that session is released. */
  readonly outcome?: RunOutcome;
}

export class ScriptStateFile {
  readonly #path: string;

  constructor(folder: string) {
    this.#path = join(folder, "script.json");
  }

  /** Undefined: no statement was started, or the machine went down before the file was on the disk. */
  async read(): Promise<ScriptState | undefined> {
    try {
      const text = await readFile(this.#path, "utf8");
      if (!text.endsWith("}")) return undefined; // a restart of the machine has lost its bytes
      return JSON.parse(text) as ScriptState; // written below, by a rename
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
      throw error;
    }
  }

  async write(state: ScriptState, { survivesMachine = false } = {}): Promise<void> {
    await writeFile(`${this.#path}.new`, JSON.stringify(state), { mode: 0o600, flush: survivesMachine });
    await rename(`${this.#path}.new`, this.#path);
    if (survivesMachine) await flushFolder(dirname(this.#path));
  }
}
