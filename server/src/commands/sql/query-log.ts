import { appendFile } from "node:fs/promises";
import { sizeOf } from "../queue/run-log.ts";

/** What a reason may take of the log, however long Spark made it; beyond the limit, too. */
const REASON_BYTES = 64 * 1024;

/** The log of a query: a line for each statement and its end, as many as its limit allows. */
export class QueryLog {
  readonly #path: string;
  readonly #limitBytes: number;
  #bytes: number | undefined;
  #isCut = false;

  constructor(path: string, limitBytes: number) {
    this.#path = path;
    this.#limitBytes = limitBytes;
  }

  async say(text: string): Promise<void> {
    this.#bytes ??= await sizeOf(this.#path);
    if (this.#isCut) return;
    this.#isCut = this.#bytes >= this.#limitBytes;
    await this.#write(this.#isCut ? `the log has reached its limit of ${this.#limitBytes} bytes` : text);
  }

  /** Why it failed: this is never left out. */
  async explain(text: string): Promise<void> {
    const bytes = Buffer.from(text);
    await this.#write(bytes.length <= REASON_BYTES ? text : `${bytes.subarray(0, REASON_BYTES).toString()} …`);
  }

  /** Best effort: a full disk is no reason to lose the run. */
  async #write(text: string): Promise<void> {
    const time = new Date().toISOString().slice(0, 19).replace("T", " ");
    const line = Buffer.from(`${time} ${text}\n`);
    this.#bytes = (this.#bytes ?? 0) + line.length;
    await appendFile(this.#path, line, { mode: 0o600 }).catch(() => undefined);
  }
}
