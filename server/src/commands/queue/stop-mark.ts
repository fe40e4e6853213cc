import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writePrivateFile } from "../../lib/private-file.ts";

export const STOPPED_WITH_ALL = "Headgate was stopped and ended all running commands";

/**
 * A file for the next server of this node: while it exists, the runs in the node's rows were ended together with Headgate.
 * The server settles these runs before it claims anything.
 */
export class StopMark {
  readonly #path: string;

  constructor(dataDir: string) {
    this.#path = join(dataDir, "stopped-with-all");
  }

  get exists(): boolean {
    return existsSync(this.#path);
  }

  write(): void {
    writePrivateFile(this.#path, "");
  }

  remove(): void {
    rmSync(this.#path, { force: true });
  }
}
