import { setImmediate as nextTurn } from "node:timers/promises";
import { CopyError } from "../copy-error.ts";
import { formatEntry, parseEntry, type ManifestEntry } from "../manifest/manifest-entry.ts";
import { compareUtf8 } from "../../../lib/compare-utf8.ts";
import type { SourceFile } from "./planned-output.ts";
import { sortRecords, type RecordSorter } from "../sorted-file/record-sorter.ts";
import type { SortedRecords } from "../sorted-file/sorted-records.ts";
import { decodeSource } from "./source-record.ts";

const TURN_RECORDS = 2000;

/** Receives the result of the comparison with a previous manifest. */
export interface Compared {
  /** Called for each source that the manifest does not list with this size, in path order. */
  readonly onNew: (source: SourceFile) => void;
  /** Called for each source that is skipped. */
  readonly onSkipped: (source: SourceFile) => void;
  /** Called for each entry whose file is not copied again, in the order of the names. */
  readonly onCarried: (entry: ManifestEntry) => void;
}

/** Sorts the entries by name. */
export async function sortManifest(
  entries: AsyncIterable<ManifestEntry>,
  folder: string,
  signal?: AbortSignal,
): Promise<SortedRecords> {
  const fill = async (sorter: RecordSorter): Promise<void> => {
    for await (const entry of entries) sorter.add(entry.baseName, formatEntry(entry));
  };
  return sortRecords(folder, fill, signal);
}

/**
 * Merges the sorted sources with the sorted manifest. A source of the same name and size is skipped. An entry of the same
 * name and another size is dropped, because the file is copied again.
 */
export async function compareWithManifest(
  sources: SortedRecords,
  manifest: SortedRecords,
  { onNew, onSkipped, onCarried }: Compared,
  signal?: AbortSignal,
): Promise<void> {
  const entries = manifest.cursor();
  let isEntry = entries.advance();
  let [read, previousKey] = [0, ""];
  const carryOn = () => {
    onCarried(entryOf(entries.value));
    isEntry = entries.advance();
  };
  for (const cursor = sources.cursor(); cursor.advance(); read += 1) {
    if (cursor.key === previousKey) continue; // listed twice
    previousKey = cursor.key;
    const source = decodeSource(cursor.key, cursor.value);
    while (isEntry && compareUtf8(entries.key, source.name) < 0) carryOn();
    let isListed = false;
    for (; isEntry && entries.key === source.name; isEntry = entries.advance()) {
      const entry = entryOf(entries.value);
      if (isListed || entry.size !== source.size) continue;
      isListed = true;
      onCarried(entry);
    }
    if (isListed) onSkipped(source);
    else onNew(source);
    if (read % TURN_RECORDS !== 0) continue;
    signal?.throwIfAborted();
    await nextTurn();
  }
  while (isEntry) carryOn();
}

/** Reads the entries of a sorted file, which this process wrote. */
export function* readEntries(sorted: SortedRecords): Generator<ManifestEntry> {
  for (const cursor = sorted.cursor(); cursor.advance();) yield entryOf(cursor.value);
}

function entryOf(value: string): ManifestEntry {
  const entry = parseEntry(value);
  if (typeof entry === "string") throw new CopyError(`A stored entry of the manifest ${entry}.`);
  return entry;
}
