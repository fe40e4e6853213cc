import { appendFile, mkdir, stat } from "node:fs/promises";
import type { AttemptFiles } from "./command-files.ts";
import type { Settlement } from "../store/queue.ts";
import { readTail } from "../../lib/plain-file.ts";

/** Writes the first lines of the log; the runner appends the program's output. */
export async function writeNotes({ log }: AttemptFiles, notes: readonly string[] = []): Promise<void> {
  if (notes.length > 0) await appendFile(log, notes.map((note) => `headgate: ${note}\n`).join(""), { mode: 0o600 });
}

/** Writes into the log why a command did not succeed, even if it never ran. Best effort: the row has the cause, too. */
export async function writeToLog(
  files: AttemptFiles,
  { cause, next }: Pick<Settlement, "cause" | "next">,
): Promise<void> {
  if (cause === null) return;
  const retry = next.status === "retry" ? `; the next attempt follows in ${next.delaySeconds} seconds` : "";
  try {
    await mkdir(files.folder, { recursive: true, mode: 0o711 });
    await appendFile(files.log, await missingCause(files.log, cause, retry), { mode: 0o600 });
  } catch {
    // Most likely the disk is full. Readers of the log then get the cause from the row.
  }
}

export async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}

/** A cause is one line, and never this long. */
const TAIL_BYTES = 4096;

/**
 * The text that has to be appended to a log so that it ends with the cause of the failure. Empty if the runner has written
 * the cause already and there is nothing `more` to say. Also used when a log is read, because a full disk may have kept
 * the cause out of the file.
 */
export async function missingCause(logFile: string, cause: string, more = ""): Promise<string> {
  const tail = await readTail(logFile, TAIL_BYTES);
  if (more === "" && tail.includes(`headgate: ${cause}`)) return "";
  const newLine = tail === "" || tail.endsWith("\n") ? "" : "\n";
  return `${newLine}headgate: ${cause}${more}\n`;
}

/** The longest reason of a failure that is written, even beyond the limit of the log. */
const REASON_BYTES = 64 * 1024;

/** The log of a run in this process: lines with a timestamp, up to a limit. */
export class LineLog {
  readonly #path: string;
  readonly #limitBytes: number;
  #bytes: number | undefined;
  #isCut = false;

  constructor(path: string, limitBytes: number) {
    this.#path = path;
    this.#limitBytes = limitBytes;
  }

  async write(...lines: readonly string[]): Promise<void> {
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
    if (written.length > 0) await this.#append(written.join(""));
  }

  /** Writes why the run failed, even beyond the limit. */
  async explain(text: string): Promise<void> {
    const bytes = Buffer.from(text);
    const reason = bytes.length <= REASON_BYTES ? text : `${bytes.subarray(0, REASON_BYTES).toString()} …`;
    await this.#append(`${timeNow()} ${reason}\n`);
  }

  /** Best effort: the run goes on although the disk is full. */
  async #append(text: string): Promise<void> {
    const bytes = Buffer.from(text);
    this.#bytes = (this.#bytes ?? 0) + bytes.length;
    await appendFile(this.#path, bytes, { mode: 0o600 }).catch(() => undefined);
  }
}

function timeNow(): string {
  return new Date().toISOString().slice(0, 19).replace("T", " ");
}
