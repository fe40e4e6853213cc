import { appendFile, mkdir, stat } from "node:fs/promises";
import type { AttemptFiles } from "./command-files.ts";
import type { Settlement } from "../store/queue.ts";
import { readTail } from "../../lib/plain-file.ts";

/** Writes the first lines of the log; the runner appends the program's output. */
export async function writeNotes({ log }: AttemptFiles, notes: readonly string[] = []): Promise<void> {
  if (notes.length > 0) await appendFile(log, notes.map((note) => `headgate: ${note}\n`).join(""), { mode: 0o600 });
}

/** The log of a command says why it did not succeed, also where nothing of it ran. Best effort: the row says it too. */
export async function writeToLog(
  files: AttemptFiles,
  { cause, next }: Pick<Settlement, "cause" | "next">,
): Promise<void> {
  if (cause === null) return;
  const retry = next.status === "retry" ? `; the next attempt follows in ${next.delaySeconds} seconds` : "";
  try {
    await mkdir(files.folder, { recursive: true, mode: 0o711 });
    await appendFile(files.log, await lastWordsMissing(files.log, cause, retry), { mode: 0o600 });
  } catch {
    // A full disk is the most likely reason to be here: whoever reads the log gets it from the row.
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
 * What a log lacks of the reason why its attempt failed: nothing where the runner has written it down already. `more` is
 * said behind it in any case. Where a full disk keeps it from the file it is read from the row, by the same rule.
 */
export async function lastWordsMissing(logFile: string, cause: string, more = ""): Promise<string> {
  const tail = await readTail(logFile, TAIL_BYTES);
  if (more === "" && tail.includes(`headgate: ${cause}`)) return "";
  const newLine = tail === "" || tail.endsWith("\n") ? "" : "\n";
  return `${newLine}headgate: ${cause}${more}\n`;
}

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
