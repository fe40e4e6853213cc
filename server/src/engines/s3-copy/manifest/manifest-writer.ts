import { pipeline } from "node:stream";
import { createGzip } from "node:zlib";
import { RecordSorter } from "../sorted-file/record-sorter.ts";
import { formatEntry, type ManifestEntry } from "./manifest-entry.ts";

const CHUNK_BYTES = 64 * 1024;

/** Collects the entries of a manifest on disk, and yields them in the byte order of their paths. */
export class ManifestWriter {
  readonly #sorter: RecordSorter;

  constructor(scratchFolder: string) {
    this.#sorter = new RecordSorter(scratchFolder);
  }

  add(entry: ManifestEntry): void {
    this.#sorter.add(entry.path, formatEntry(entry));
  }

  /** The compressed bytes of the manifest. No entry may be added afterwards. */
  async *finish(signal?: AbortSignal): AsyncGenerator<Buffer> {
    const sorted = await this.#sorter.finish(signal);
    function* lines(): Generator<Buffer> {
      let text = "";
      for (const cursor = sorted.cursor(); cursor.advance();) {
        text += `${cursor.value}\n`;
        if (text.length < CHUNK_BYTES) continue;
        yield Buffer.from(text);
        text = "";
      }
      yield Buffer.from(text);
    }
    const gzip = createGzip({ chunkSize: CHUNK_BYTES });
    pipeline(lines, gzip, () => undefined); // the iteration below throws its error
    try {
      for await (const chunk of gzip as AsyncIterable<Buffer>) {
        signal?.throwIfAborted();
        yield chunk;
      }
    } finally {
      sorted.close();
    }
  }

  /** For writers that are not finished. */
  close(): void {
    this.#sorter.close();
  }
}
