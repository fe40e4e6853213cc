import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { extract as extractTar } from "tar-stream";
import { Fault } from "../../lib/fault.ts";
import { chunkName } from "./manifest.ts";
import { damaged, readSealedFile, type UnlockedFile } from "./sealed-file.ts";

interface Entry {
  name: string;
  body: AsyncIterable<Buffer>;
}

/** Reads the entries of an export in order. Callers must ask for them in the order of the manifest. */
export class ArchiveReader {
  readonly #unlocked: UnlockedFile;
  readonly #entries: AsyncGenerator<Entry, void, void>;
  /** Read ahead, and not yet requested. */
  #next: Entry | undefined;

  constructor(unlocked: UnlockedFile) {
    this.#unlocked = unlocked;
    this.#entries = readEntries(unlocked);
  }

  /** The next entry, which must have this name. */
  async text(name: string): Promise<string> {
    const entry = await this.#take((found) => found === name);
    if (entry !== undefined) return text(entry.body);
    const { file } = this.#unlocked;
    throw new Fault(
      "invalid",
      `${file} can be decrypted, but is not an export of Headgate: the entry ${name} is missing or out of order.`,
    );
  }

  /** The rows of a table, up to the first entry that belongs to something else. */
  async *rows(section: string, table: string): AsyncGenerator<Buffer, void, void> {
    for (let number = 1; ; number += 1) {
      const entry = await this.#take((found) => found === chunkName(section, table, number));
      if (entry === undefined) return;
      yield* entry.body;
    }
  }

  async assertEnd(): Promise<void> {
    const entry = await this.#take(() => true);
    if (entry !== undefined) throw damaged(this.#unlocked.file, new Error(`unexpected entry ${entry.name}`));
  }

  /** Undefined if the next entry is another one, which stays the next. */
  async #take(isIt: (name: string) => boolean): Promise<Entry | undefined> {
    const entry = this.#next ?? (await this.#entries.next()).value ?? undefined;
    if (entry !== undefined && isIt(entry.name)) {
      this.#next = undefined;
      return entry;
    }
    this.#next = entry;
    return undefined;
  }
}

/** Each body must be read before the next entry is requested. */
async function* readEntries(unlocked: UnlockedFile): AsyncGenerator<Entry, void, void> {
  const { file } = unlocked;
  const tar = extractTar();
  const fed = pipeline(await readSealedFile(unlocked), tar);
  fed.catch(() => undefined); // the loop below fails with the same error
  try {
    for await (const entry of tar) {
      // The type lacks an iterator of buffers, which is what it yields without an encoding.
      yield { name: entry.header.name, body: translated(entry as AsyncIterable<Buffer>, file) };
    }
    await fed;
  } catch (error) {
    throw error instanceof Fault ? error : damaged(file, error);
  } finally {
    tar.destroy();
  }
}

async function* translated(body: AsyncIterable<Buffer>, file: string): AsyncGenerator<Buffer, void, void> {
  try {
    yield* body;
  } catch (error) {
    throw damaged(file, error);
  }
}
