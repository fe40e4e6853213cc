import { openPlainFile } from "../../lib/plain-file.ts";
import { JournalError, readJournalLines, type JournalLine } from "./journal-line.ts";

export interface OpenUpload {
  readonly uri: string;
  readonly uploadId: string;
}

/** Unfinished work that killed attempts have left. */
export interface Leftovers {
  /** Distinguishes this copy from others, for the names of temporary files. */
  readonly id: string;
  readonly leftUploads: readonly OpenUpload[];
  /** Outputs that were begun and not finished. There are never many, because outputs are begun in batches. */
  readonly leftOutputs: readonly string[];
  /** URIs of temporary files. */
  readonly leftTemporaries: readonly string[];
}

/** The part of a journal that fits into memory whatever the number of files. */
export class JournalState {
  id: string | undefined;
  isContinued = false;
  isComplete = false;
  /** The number of the last output that was finished. */
  lastOutput = 0;
  /** About the memory that the texts take. */
  heldBytes = 0;
  readonly #uploads = new Map<string, string>();
  readonly #unfinished = new Map<string, string>();
  readonly #temporaries = new Map<string, string>();

  add(line: JournalLine): void {
    switch (line[0]) {
      case "id":
        this.id = line[1];
        break;
      case "begin":
        this.isContinued = true;
        for (const name of line.slice(1)) this.#hold(this.#unfinished, name);
        break;
      case "manifest":
        this.isContinued = true; // the destination may have the manifest, even if there was nothing to copy
        this.#hold(this.#unfinished, line[1]);
        break;
      case "written":
      case "void":
        this.#drop(this.#unfinished, line[1]);
        break;
      case "upload":
        this.#hold(this.#uploads, line[2], line[1]);
        break;
      case "closed":
        this.#drop(this.#uploads, line[1]);
        break;
      case "temporary":
        this.#hold(this.#temporaries, line[1]);
        break;
      case "removed":
        this.#drop(this.#temporaries, line[1]);
        break;
      case "row":
        this.lastOutput = Math.max(this.lastOutput, line[1]);
        break;
      case "done":
        this.lastOutput = Math.max(this.lastOutput, line[4]);
        this.#drop(this.#unfinished, line[1]);
        break;
      case "complete":
        this.isComplete = true;
        break;
      case "boot":
      case "append":
    }
  }

  leftovers(id: string): Leftovers {
    return {
      id,
      leftUploads: [...this.#uploads].map(([uploadId, uri]) => ({ uploadId, uri })),
      leftOutputs: [...this.#unfinished.keys()],
      leftTemporaries: [...this.#temporaries.keys()],
    };
  }

  #hold(map: Map<string, string>, key: string, value = ""): void {
    this.#drop(map, key);
    map.set(key, value);
    this.heldBytes += ENTRY_BYTES + key.length + value.length;
  }

  #drop(map: Map<string, string>, key: string): void {
    const value = map.get(key);
    if (value === undefined) return;
    map.delete(key);
    this.heldBytes -= ENTRY_BYTES + key.length + value.length;
  }
}

const MAX_FILE_BYTES = 4 * 1024 ** 3;
const MAX_LINE_BYTES = 1024 * 1024;
/** A copy has at most about ten thousand unfinished outputs, with names of up to a kilobyte. */
const MAX_HELD_BYTES = 32 * 1024 * 1024;
/** The memory of an entry besides its text, until its removal has ended. */
const ENTRY_BYTES = 200;
const ID = /^[0-9a-f]{16}$/;

/**
 * Reads the leftovers of a copy, for the server. The folder belongs to the user of the account's processes, so its contents
 * are not trusted: the file is only read, no link is followed, and its size, its lines and the memory for them are limited.
 * Undefined: there is no journal.
 */
export async function readLeftovers(path: string): Promise<Leftovers | undefined> {
  const file = await openPlainFile(path);
  if (file === undefined) return undefined;
  try {
    if (file.size > MAX_FILE_BYTES) throw new JournalError("the journal of the copy is larger than 4 GiB");
    const state = new JournalState();
    for await (const { line, end } of readJournalLines(file.handle, MAX_LINE_BYTES)) {
      if (end > MAX_FILE_BYTES) throw new JournalError("the journal of the copy grows while it is read");
      state.add(line);
      if (state.heldBytes > MAX_HELD_BYTES) {
        throw new JournalError("the journal of the copy names more unfinished work than a copy can have");
      }
    }
    const id = state.id ?? "";
    if (!ID.test(id)) throw new JournalError("the journal of the copy has no id");
    return state.leftovers(id);
  } finally {
    await file.handle.close();
  }
}
