import { readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ResultColumn } from "../../engines/arrow-result/spool-result.ts";
import { flushFolder } from "../../lib/flush-folder.ts";
import type { RunOutcome } from "../execution/executor.ts";

/** What the row of its command tells the next Headgate. */
export interface SqlHandle {
  readonly kind: "sql";
  /** Of the machine, when it began. */
  readonly bootId: string;
}

/**
 * Where a script stands, for the next Headgate: written before each statement, so that one is never started twice. Where
 * the server is somebody else's it has to survive the machine, as the statement does. Ours end with the machine, and the
 * file may go with it: that it is missing tells nothing after another start of the machine.
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
  /** How the script failed or was cancelled, once it had a session. Written before that session is released. */
  readonly outcome?: RunOutcome;
}

export class ScriptStateFile {
  readonly #path: string;

  constructor(folder: string) {
    this.#path = join(folder, "script.json");
  }

  /** Undefined: no statement was ever started, or the machine went down before the disk had it. */
  async read(): Promise<ScriptState | undefined> {
    try {
      const text = await readFile(this.#path, "utf8");
      if (!text.endsWith("}")) return undefined; // its name came to the disk, its bytes did not
      return JSON.parse(text) as ScriptState; // written below, appears whole
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
