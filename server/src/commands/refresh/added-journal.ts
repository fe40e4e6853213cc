import { open, type FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";
import { flushFolder } from "../../lib/flush-folder.ts";
import type { AddedPartition } from "./refresh-table.ts";

/** In the attempt's folder. */
export function journalFile(folder: string): string {
  return join(folder, "added.jsonl");
}

type Line = readonly (readonly [name: string, location: string])[];

/**
 * What a refresh adds, in its attempt's folder: a line of JSON for each batch, on the disk before the batch is added. So
 * whoever goes on behind a crash knows all that was added, and of the last line alone not whether it was.
 */
export class AddedJournal {
  readonly #handle: FileHandle;
  /** Where the last whole line begins, and where it ends. */
  #lastAt: number;
  #end: number;
  #unsure: readonly AddedPartition[];

  private constructor(handle: FileHandle, { lastAt, end, unsure }: Tail) {
    this.#handle = handle;
    this.#lastAt = lastAt;
    this.#end = end;
    this.#unsure = unsure;
  }

  static async open(folder: string): Promise<AddedJournal> {
    const path = journalFile(folder);
    const handle = await open(path, "a+", 0o600);
    try {
      const tail = await readTail(handle);
      await handle.truncate(tail.end); // a line that a crash has cut off
      await flushFolder(dirname(path));
      return new AddedJournal(handle, tail);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  get unsure(): readonly AddedPartition[] {
    return this.#unsure;
  }

  async settle(added: readonly AddedPartition[]): Promise<void> {
    const isChanged = added.length < this.#unsure.length;
    this.#unsure = [];
    if (!isChanged) return;
    await this.#handle.truncate(this.#lastAt);
    this.#end = this.#lastAt;
    await this.note(added);
  }

  async note(partitions: readonly AddedPartition[]): Promise<void> {
    const line: Line = partitions.map(({ name, location }) => [name, location]);
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
    await this.#handle.appendFile(bytes);
    await this.#handle.datasync();
    this.#lastAt = this.#end;
    this.#end += bytes.length;
  }

  /** All that was added, a batch at a time. */
  async *batches(): AsyncGenerator<readonly AddedPartition[]> {
    for await (const { text } of linesOf(this.#handle)) yield partitionsIn(text);
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}

interface Tail {
  readonly lastAt: number;
  readonly end: number;
  readonly unsure: readonly AddedPartition[];
}

async function readTail(handle: FileHandle): Promise<Tail> {
  let last = { at: 0, end: 0, text: "[]" };
  for await (const line of linesOf(handle)) last = line;
  return { lastAt: last.at, end: last.end, unsure: partitionsIn(last.text) };
}

const PIECE_BYTES = 256 * 1024;
const NEWLINE = 0x0a;

/** Whole lines only. */
async function* linesOf(handle: FileHandle): AsyncGenerator<{ at: number; end: number; text: string }> {
  let open: Buffer[] = [];
  let at = 0;
  const piece = Buffer.allocUnsafe(PIECE_BYTES);
  for (let read = 0; ;) {
    const { bytesRead } = await handle.read(piece, 0, piece.length, read);
    if (bytesRead === 0) return;
    let from = 0;
    for (;;) {
      const newline = piece.subarray(0, bytesRead).indexOf(NEWLINE, from);
      if (newline === -1) break;
      const text = Buffer.concat([...open, piece.subarray(from, newline)]).toString("utf8");
      from = newline + 1;
      open = [];
      yield { at, end: read + from, text };
      at = read + from;
    }
    open.push(Buffer.from(piece.subarray(from, bytesRead)));
    read += bytesRead;
  }
}

function partitionsIn(text: string): AddedPartition[] {
  return (JSON.parse(text) as Line).map(([name, location]) => ({ name, location })); // written above, line by line
}
