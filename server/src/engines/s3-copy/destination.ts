import { CopyError } from "./copy-error.ts";
import type { Journal } from "./journal.ts";
import type { CopyOptions } from "./options/copy-options.ts";
import { compareUtf8 } from "../../lib/compare-utf8.ts";
import { RecordSorter } from "./sorted-file/record-sorter.ts";
import type { SortedRecords } from "./sorted-file/sorted-records.ts";
import type { Storage } from "./storage/storage.ts";

/** The URI of an output. */
export function outputUri(dest: string, name: string): string {
  return dest.endsWith("/") ? `${dest}${name}` : `${dest}/${name}`;
}

interface DestinationParts {
  readonly to: Storage;
  readonly journal: Journal;
  readonly scratchFolder: string;
  readonly signal: AbortSignal;
}

/**
 * §4.4: the destination must not exist. Outputs that an earlier attempt of the same command has begun do not count. With
 * options that continue in an existing folder, nothing is checked.
 */
export async function checkDestination(options: CopyOptions, parts: DestinationParts): Promise<void> {
  if (mayExist(options)) return;
  const { dest } = options;
  const found = parts.journal.isContinued ? await findForeign(dest, parts) : await findAny(dest, parts.to);
  if (found === undefined) return;
  throw new CopyError(
    `${dest}: the destination exists already (it has ${found}); name another one, or remove it first`,
  );
}

/** Whether the destination may have files that this command has not written. */
export function mayExist({ previousManifest, copyFromManifest, appendToLastFile }: CopyOptions): boolean {
  return previousManifest !== null || copyFromManifest || appendToLastFile;
}

async function findAny(dest: string, to: Storage): Promise<string | undefined> {
  for await (const [first] of to.list(dest)) if (first !== undefined) return first.name;
  return undefined;
}

/** Compares the sorted names of the destination with those in the journal: neither has to fit into memory. */
async function findForeign(dest: string, parts: DestinationParts): Promise<string | undefined> {
  const { to, journal, scratchFolder, signal } = parts;
  const begun = await sorted(journal.begunNames(), scratchFolder, signal);
  try {
    const found = await sorted(namesBelow(dest, to), scratchFolder, signal);
    try {
      return firstMissing(found, begun);
    } finally {
      found.close();
    }
  } finally {
    begun.close();
  }
}

async function* namesBelow(dest: string, to: Storage): AsyncGenerator<string> {
  for await (const page of to.list(dest)) for (const { name } of page) yield name;
}

async function sorted(names: AsyncIterable<string>, folder: string, signal: AbortSignal): Promise<SortedRecords> {
  const sorter = new RecordSorter(folder);
  try {
    for await (const name of names) sorter.add(name, "");
  } catch (error) {
    sorter.close();
    throw error;
  }
  return sorter.finish(signal);
}

/** The first name of `found` that `known` does not have. */
function firstMissing(found: SortedRecords, known: SortedRecords): string | undefined {
  const other = known.cursor();
  let isOther = other.advance();
  for (const cursor = found.cursor(); cursor.advance();) {
    while (isOther && compareUtf8(other.key, cursor.key) < 0) isOther = other.advance();
    if (!isOther || other.key !== cursor.key) return cursor.key;
  }
  return undefined;
}
