import type { ObjectStore } from "../../engines/object-store/object-store.ts";
import { parsePartitionName } from "../../engines/hive-thrift/partition-name.ts";
import { nameOf, whyUnkept } from "./named-partitions.ts";
import { listingFailure, partitionColumns, type RefreshedTable } from "./refreshed-table.ts";
import { RefreshTally } from "./refresh-tally.ts";
import { settledFolders } from "./settled-folders.ts";
import type { TablePartitions } from "./table-partitions.ts";
import { walkPartitions, type PartitionFolder } from "./walk-partitions.ts";

/** A partition as people are told of it. */
export interface RefreshedPartition {
  /** `day=2026-01-31/city=a%3Ab` */
  readonly name: string;
  readonly location: string;
}

/**
 * What a refresh has added, kept by whoever runs it, so that another one that goes on behind a crash knows: partitions are
 * noted before they are added, and so the last ones noted may not have been.
 */
export interface RefreshJournal {
  /** Those of the last note before a crash. */
  readonly unsure: readonly RefreshedPartition[];
  /** Only these of the unsure ones have been added. */
  settle(added: readonly RefreshedPartition[]): Promise<void>;
  /** They are about to be added. Outlives a crash once it has settled. */
  note(partitions: readonly RefreshedPartition[]): Promise<void>;
}

export interface RefreshReport {
  say(lines: readonly string[]): Promise<void>;
  /** Percent. */
  progress(percent: number): void;
}

export interface TableRefreshOptions {
  readonly table: RefreshedTable;
  readonly store: ObjectStore;
  readonly partitions: TablePartitions;
  readonly journal: RefreshJournal;
  readonly report: RefreshReport;
  /** Only what has not changed for so long counts; null: everything does. */
  readonly stableMinutes: number | null;
  readonly signal: AbortSignal;
}

/** At so many folders progress stands at one half: how many there are is known only in the end. */
const HALFWAY = 5000;

/**
 * The folders of a table are walked through, compared with what the metastore knows and added where it does not, batch by
 * batch. Nothing is dropped. It may be ended at any moment and begun again: what was added is not missing any more.
 */
export async function refreshTable(options: TableRefreshOptions): Promise<void> {
  const { table, store, report, stableMinutes, signal } = options;
  const tally = new RefreshTally();
  await report.say([`refreshing ${table.schema}.${table.name} at ${table.location}`]);
  await settleUnsure(options);
  const walked = walkPartitions(
    store,
    { location: table.location, columns: partitionColumns(table) },
    { signal, withTimes: stableMinutes !== null, odd: (location, why) => tally.odd(location, why) },
  );
  try {
    for (;;) {
      const batch = await tally.timed("listing", () => explained(walked.next(), table));
      if (batch.done === true) break;
      tally.found += batch.value.length;
      const missing = await findMissing(batch.value, options, tally);
      const added = stableMinutes === null ? missing : await onlySettled(missing, stableMinutes, options, tally);
      await report.say(tally.takeOdd());
      if (added.length > 0) await add(added, options, tally);
      report.progress(Math.floor((100 * tally.found) / (tally.found + HALFWAY)));
    }
  } finally {
    await report.say(tally.takeOdd());
    await walked.return(undefined);
  }
  await report.say([...tally.countOdd(), tally.summary()]);
}

/** What was noted last and is missing was never added; it is found again where it is still there. */
async function settleUnsure({ table, partitions, journal, signal }: TableRefreshOptions): Promise<void> {
  if (journal.unsure.length === 0) return;
  const noted = journal.unsure.map(({ name, location }) => ({ values: valuesIn(name), location }));
  const missing = new Set((await partitions.missing(noted, signal)).map((partition) => nameOf(table, partition)));
  await journal.settle(journal.unsure.filter(({ name }) => !missing.has(name)));
}

function valuesIn(name: string): string[] {
  return (parsePartitionName(name) ?? []).map(({ value }) => value);
}

/** Each once: of two folders that mean one partition, such as `day=1` and `DAY=1`, the first. */
async function findMissing(
  batch: readonly PartitionFolder[],
  { table, partitions, signal }: TableRefreshOptions,
  tally: RefreshTally,
): Promise<PartitionFolder[]> {
  const kept = batch.filter((folder) => {
    const why = whyUnkept(table, folder);
    if (why !== undefined) tally.odd(folder.location, why);
    return why === undefined;
  });
  const missing = await tally.timed("comparing", () => partitions.missing(kept, signal));
  const places = new Set(missing.map(({ location }) => location));
  const byName = new Map<string, PartitionFolder>();
  for (const folder of kept.filter(({ location }) => places.has(location))) {
    const name = nameOf(table, folder);
    const first = byName.get(name);
    if (first === undefined) byName.set(name, folder);
    else tally.odd(folder.location, `it means the same partition as ${first.location}`);
  }
  return [...byName.values()];
}

async function onlySettled(
  folders: readonly PartitionFolder[],
  minutes: number,
  { table, store, report, signal }: TableRefreshOptions,
  tally: RefreshTally,
): Promise<readonly PartitionFolder[]> {
  const since = new Date(Date.now() - minutes * 60_000);
  const { settled, unsettled } = await tally.timed("looking for changes", () =>
    explained(settledFolders(store, folders, { since, signal }), table),
  );
  tally.unsettled += unsettled.length;
  await report.say(
    unsettled.map(
      ({ folder, changed, at }) =>
        `left for the next refresh: ${nameOf(table, folder)} at ${folder.location}: ${changed} was changed at ` +
        `${at.toISOString()}, less than ${minutes} min ago`,
    ),
  );
  return settled;
}

async function add(
  folders: readonly PartitionFolder[],
  { table, partitions, journal, report, signal }: TableRefreshOptions,
  tally: RefreshTally,
): Promise<void> {
  const named = folders.map((folder) => ({ name: nameOf(table, folder), location: folder.location }));
  await journal.note(named);
  signal.throwIfAborted();
  await tally.timed("adding", () => partitions.add(folders, signal));
  tally.added += named.length;
  await report.say(named.map(({ name, location }) => `added ${name} at ${location}`));
}

async function explained<T>(work: Promise<T>, { location }: RefreshedTable): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw listingFailure(error, location);
  }
}
