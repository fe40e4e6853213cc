import { compareUtf8 } from "../../lib/compare-utf8.ts";
import { outputUri } from "./destination.ts";
import type { FinishedOutputs } from "./finished-outputs.ts";
import type { Journal } from "./journal.ts";
import { sortRecords, type RecordSorter } from "./sorted-file/record-sorter.ts";
import type { SortedRecords } from "./sorted-file/sorted-records.ts";
import type { Storage } from "./storage/storage.ts";

export interface SupersededParts {
  /** Names in byte order. Called twice. */
  readonly names: () => Iterable<string>;
  readonly journal: Pick<Journal, "noteVoid" | "finishedOutputs">;
  /** The storage to remove outputs from. Null: they stay, because the destination may have had them before the copy. */
  readonly to: Storage | null;
  readonly dest: string;
  readonly scratchFolder: string;
  readonly signal: AbortSignal;
  readonly log: (line: string) => void;
}

const BATCH = 16;
const NAMES_IN_LOG = 10;
const WHAT = "outputs of earlier attempts are not planned any more, because the sources have changed";

/**
 * Takes outputs that earlier attempts have begun, and this one has not planned, out of the copy. They are removed from the
 * destination, unless they may hold the last copy of a source that is gone. Call it when all planned outputs are done.
 */
export async function removeSuperseded(parts: SupersededParts): Promise<void> {
  const [first] = parts.names();
  if (first === undefined) return;
  const lastCopies = parts.to === null ? null : await findLastCopies(parts);
  try {
    await removeEach(parts, lastCopies);
  } finally {
    lastCopies?.close();
  }
}

async function removeEach(
  { names, journal, to, dest, log }: SupersededParts,
  lastCopies: SortedRecords | null,
): Promise<void> {
  const isLastCopy = membership(lastCopies);
  const kept: string[] = [];
  let [keptCount, removedCount] = [0, 0];
  let batch: Promise<void>[] = [];
  const take = async (name: string, isKept: boolean): Promise<void> => {
    if (!isKept) await to?.removeOutput(outputUri(dest, name));
    journal.noteVoid(name);
  };
  for (const name of names()) {
    const isKept = isLastCopy(name);
    if (isKept) keptCount += 1;
    else removedCount += 1;
    if (isKept && kept.length < NAMES_IN_LOG) kept.push(name);
    batch.push(take(name, isKept));
    if (batch.length < BATCH) continue;
    await Promise.all(batch);
    batch = [];
  }
  await Promise.all(batch);
  if (to === null) log(`${removedCount} ${WHAT}: they stay at the destination, which may have had them before`);
  else if (removedCount > 0) log(`${removedCount} ${WHAT}: removed`);
  if (keptCount === 0) return;
  const more = keptCount > kept.length ? ", …" : "";
  log(`${keptCount} ${WHAT}: they stay at the destination, because some sources are gone: ${kept.join(", ")}${more}`);
}

/** The names of superseded outputs with a source that no other output has. Nothing in memory grows with their number. */
async function findLastCopies({ names, journal, scratchFolder, signal }: SupersededParts): Promise<SortedRecords> {
  const finished = await journal.finishedOutputs(scratchFolder, signal);
  const sort = (fill: (sorter: RecordSorter) => Promise<void> | void): Promise<SortedRecords> =>
    sortRecords(scratchFolder, fill, signal);
  const byOutput = await sort((sorter) => addSources(sorter, finished));
  try {
    const bySource = await sort((sorter) => addMarked(sorter, byOutput, names()));
    try {
      return await sort((sorter) => addUnshared(sorter, bySource));
    } finally {
      bySource.close();
    }
  } finally {
    byOutput.close();
  }
}

async function addSources(sorter: RecordSorter, finished: FinishedOutputs): Promise<void> {
  for await (const { source, output } of finished.sources()) sorter.add(output, source.uri);
}

/** Adds each source with the name of its output if that is superseded, otherwise with an empty name. */
function addMarked(sorter: RecordSorter, byOutput: SortedRecords, superseded: Iterable<string>): void {
  const isSuperseded = inOrder(superseded);
  for (const cursor = byOutput.cursor(); cursor.advance();) {
    sorter.add(cursor.value, isSuperseded(cursor.key) ? cursor.key : "");
  }
}

function addUnshared(sorter: RecordSorter, bySource: SortedRecords): void {
  let source = "";
  let outputs: string[] = [];
  const finish = (): void => {
    if (!outputs.includes("")) for (const output of outputs) sorter.add(output, "");
    outputs = [];
  };
  for (const cursor = bySource.cursor(); cursor.advance();) {
    if (cursor.key !== source) finish();
    source = cursor.key;
    outputs.push(cursor.value);
  }
  finish();
}

function membership(records: SortedRecords | null): (name: string) => boolean {
  return inOrder(records === null ? [] : keysOf(records));
}

function* keysOf(records: SortedRecords): Generator<string> {
  for (const cursor = records.cursor(); cursor.advance();) yield cursor.key;
}

/** Whether the sorted names include a name. To be called with names in byte order. */
function inOrder(sortedNames: Iterable<string>): (name: string) => boolean {
  const names = sortedNames[Symbol.iterator]();
  let next = names.next();
  return (name) => {
    while (next.done !== true && compareUtf8(next.value, name) < 0) next = names.next();
    return next.done !== true && next.value === name;
  };
}
