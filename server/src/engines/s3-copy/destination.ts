import { CopyError } from "./copy-error.ts";
import type { FinishedOutputs } from "./finished-outputs.ts";
import type { Journal } from "./journal.ts";
import type { CopyOptions } from "./options/copy-options.ts";
import { compareUtf8 } from "../../lib/compare-utf8.ts";
import { SizesInOrder } from "./plan/skip-done.ts";
import { sortRecords, type RecordSorter } from "./sorted-file/record-sorter.ts";
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
 * options that continue in an existing folder, nothing is checked. Returns the names and sizes at the destination if there
 * was an earlier attempt, otherwise null.
 */
export async function checkDestination(options: CopyOptions, parts: DestinationParts): Promise<SortedRecords | null> {
  const { dest } = options;
  const { to, journal, scratchFolder, signal } = parts;
  if (!journal.isContinued) {
    if (!mayExist(options)) refuseExisting(dest, await findAny(dest, to));
    return null;
  }
  const found = await sorted(sizesBelow(dest, to), scratchFolder, signal);
  try {
    if (!mayExist(options)) refuseExisting(dest, await findForeign(found, parts));
    return found;
  } catch (error) {
    found.close();
    throw error;
  }
}

function refuseExisting(dest: string, name: string | undefined): void {
  if (name === undefined) return;
  throw new CopyError(`${dest}: the destination exists already (it has ${name}); name another one, or remove it first`);
}

/**
 * Fails if an output that an earlier attempt has finished is not at the destination any more: its sources must not be
 * deleted. `found`: the names and sizes at the destination.
 */
export async function checkStillThere(
  finished: FinishedOutputs,
  found: SortedRecords,
  {
    dest,
    scratchFolder,
    signal,
  }: { readonly dest: string; readonly scratchFolder: string; readonly signal: AbortSignal },
): Promise<void> {
  const outputs = await sorted(finished.outputs(), scratchFolder, signal);
  try {
    const sizes = new SizesInOrder(found);
    for (const cursor = outputs.cursor(); cursor.advance();) {
      if (sizes.sizeOf(cursor.key) === Number(cursor.value)) continue;
      throw new CopyError(
        `${outputUri(dest, cursor.key)}: an earlier attempt has copied it, but it was removed or replaced since; no ` +
          "source is deleted. Submit the command again with another destination",
      );
    }
  } finally {
    outputs.close();
  }
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
async function findForeign(
  found: SortedRecords,
  { journal, scratchFolder, signal }: DestinationParts,
): Promise<string | undefined> {
  const begun = await sorted(withoutSizes(journal.begunNames()), scratchFolder, signal);
  try {
    return firstMissing(found, begun);
  } finally {
    begun.close();
  }
}

interface NamedSize {
  readonly name: string;
  readonly size: number;
}

async function* sizesBelow(dest: string, to: Storage): AsyncGenerator<NamedSize> {
  for await (const page of to.list(dest)) yield* page;
}

async function* withoutSizes(names: AsyncIterable<string>): AsyncGenerator<NamedSize> {
  for await (const name of names) yield { name, size: 0 };
}

async function sorted(files: AsyncIterable<NamedSize>, folder: string, signal: AbortSignal): Promise<SortedRecords> {
  const fill = async (sorter: RecordSorter): Promise<void> => {
    for await (const { name, size } of files) sorter.add(name, String(size));
  };
  return sortRecords(folder, fill, signal);
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
