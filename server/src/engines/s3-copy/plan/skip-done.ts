import { compareUtf8 } from "../../../lib/compare-utf8.ts";
import { RecordSorter, sortRecords } from "../sorted-file/record-sorter.ts";
import type { SortedRecords } from "../sorted-file/sorted-records.ts";
import type { OriginalFile, PlannedOutput } from "./planned-output.ts";

/** An event of an earlier attempt for an output. */
export type EarlierOutput = { readonly name: string } & (
  | { readonly state: "begun" | "void" }
  /** `digest`: of its sources; `size`: its own. */
  | { readonly state: "done"; readonly digest: string; readonly size: number }
  | { readonly state: "original"; readonly original: OriginalFile }
);

/** What earlier attempts have done. */
export interface EarlierWork {
  /** In the order of the events. */
  readonly outputs: AsyncIterable<EarlierOutput>;
  /** The names at the destination, with their sizes. */
  readonly found: SortedRecords;
}

/** The state of a planned output after earlier attempts. */
export interface KnownOutput {
  /** The digest of the sources it was made of; null: it is not done, or not at the destination any more. */
  readonly digest: string | null;
  /** Null: no attempt has appended to a file. */
  readonly original: OriginalFile | null;
}

const UNKNOWN: KnownOutput = { digest: null, original: null };

/** Compares a plan with the outputs of earlier attempts. Call `find` in the byte order of names. */
export class EarlierOutputs {
  readonly #sorted: SortedRecords;
  readonly #cursor: ReturnType<SortedRecords["cursor"]>;
  readonly #found: SizesInOrder;
  readonly #superseded: RecordSorter;
  #isEntry: boolean;

  private constructor(sorted: SortedRecords, found: SortedRecords, superseded: RecordSorter) {
    this.#sorted = sorted;
    this.#found = new SizesInOrder(found);
    this.#superseded = superseded;
    this.#cursor = sorted.cursor();
    this.#isEntry = this.#cursor.advance();
  }

  static async read({ outputs, found }: EarlierWork, folder: string, signal?: AbortSignal): Promise<EarlierOutputs> {
    const fill = async (sorter: RecordSorter): Promise<void> => {
      for await (const { name, ...rest } of outputs) sorter.add(name, JSON.stringify(rest));
    };
    const sorted = await sortRecords(folder, fill, signal); // leaves records of the same name in their order
    return new EarlierOutputs(sorted, found, new RecordSorter(folder));
  }

  find(name: string): KnownOutput {
    while (this.#isEntry && compareUtf8(this.#cursor.key, name) < 0) this.#passOver();
    return this.#isEntry && this.#cursor.key === name ? this.#take().known : UNKNOWN;
  }

  /** Names that earlier attempts have begun and that are no longer planned. */
  async superseded(signal?: AbortSignal): Promise<SortedRecords> {
    while (this.#isEntry) this.#passOver();
    return this.#superseded.finish(signal);
  }

  close(): void {
    this.#sorted.close();
    this.#superseded.close();
  }

  #passOver(): void {
    const { key } = this.#cursor;
    if (!this.#take().isVoid) this.#superseded.add(key, "");
  }

  /** Reads all records of a name. The last state counts, but the first original: later ones are results of attempts. */
  #take(): { readonly known: KnownOutput; readonly isVoid: boolean } {
    const name = this.#cursor.key;
    let last: EarlierOutput["state"] = "begun";
    let done: { readonly digest: string; readonly size: number } | null = null;
    let original: OriginalFile | null = null;
    for (; this.#isEntry && this.#cursor.key === name; this.#isEntry = this.#cursor.advance()) {
      const entry = JSON.parse(this.#cursor.value) as EarlierOutput; // written by `read`
      if (entry.state === "original") {
        original ??= entry.original;
        continue;
      }
      last = entry.state;
      done = entry.state === "done" ? entry : null;
    }
    // The output may have been removed or replaced after the attempt that finished it.
    const digest = done !== null && this.#found.sizeOf(name) === done.size ? done.digest : null;
    return { known: { digest, original }, isVoid: last === "void" };
  }
}

/** Reads sizes by name. Call `sizeOf` in the byte order of names. */
export class SizesInOrder {
  readonly #cursor: ReturnType<SortedRecords["cursor"]>;
  #isEntry: boolean;

  constructor(sizes: SortedRecords) {
    this.#cursor = sizes.cursor();
    this.#isEntry = this.#cursor.advance();
  }

  sizeOf(name: string): number | undefined {
    while (this.#isEntry && compareUtf8(this.#cursor.key, name) < 0) this.#isEntry = this.#cursor.advance();
    return this.#isEntry && this.#cursor.key === name ? Number(this.#cursor.value) : undefined;
  }
}

export function withOriginal(output: PlannedOutput, original: OriginalFile): PlannedOutput {
  const { name, bytes, sourceCount, single, recoding } = output;
  return { name, bytes, sourceCount, single, recoding, original, sources: () => output.sources() };
}
