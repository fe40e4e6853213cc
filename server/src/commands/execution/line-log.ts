import { appendFile } from "node:fs/promises";
import { sizeOf } from "./run-log.ts";

/** What a reason may take of the log, however long Spark made it; beyond the limit, too. */
const REASON_BYTES = 64 * 1024;

/** The log of what runs in this process: lines with their time, as many as its limit allows. */
export class LineLog {
  readonly #path: string;
  readonly #limitBytes: number;
  #bytes: number | undefined;
  #isCut = false;

  constructor(path: string, limitBytes: number) {
    this.#path = path;
    this.#limitBytes = limitBytes;
  }

  async say(...lines: readonly string[]): Promise<void> {
    let bytes = (this.#bytes ??= await sizeOf(this.#path));
    const time = timeNow();
    const written: string[] = [];
    for (const line of lines) {
      if (this.#isCut) break;
      this.#isCut = bytes >= this.#limitBytes;
      const text = `${time} ${this.#isCut ? `the log has reached its limit of ${this.#limitBytes} bytes` : line}\n`;
      bytes += Buffer.byteLength(text);
      written.push(text);
    }
    if (written.length > 0) await this.#write(written.join(""));
  }

  /** Why it failed: this is never left out. */
  async explain(text: string): Promise<void> {
    const bytes = Buffer.from(text);
    const reason = bytes.length <= REASON_BYTES ? text : `${bytes.subarray(0, REASON_BYTES).toString()} …`;
    await this.#write(`${timeNow()} ${reason}\n`);
  }

  /** Best effort: a full disk is no reason to lose the run. */
  async #write(text: string): Promise<void> {
    const bytes = Buffer.from(text);
    this.#bytes = (this.#bytes ?? 0) + bytes.length;
    await appendFile(this.#path, bytes, { mode: 0o600 }).catch(() => undefined);
  }
}

function timeNow(): string {
  return new Date().toISOString().slice(0, 19).replace("T", " ");
}
