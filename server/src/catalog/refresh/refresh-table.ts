import type { ObjectStore } from "../../object-store/object-store.ts";
import { parsePartitionName } from "../../engines/hive-thrift/partition-name.ts";
import { nameOf, whyNotStorable } from "./named-partitions.ts";
import {
  listingFailure,
  partitionColumns,
  whyNotReadable,
  withoutKeys,
  type RefreshableTable,
} from "./refreshable-table.ts";
import type { RefreshContext, RefreshedPartition, RefreshRequest } from "../contract.ts";
import { RefreshTally } from "./refresh-tally.ts";
import { settledFolders } from "./settled-folders.ts";
import type { TablePartitions } from "./table-partitions.ts";
import { walkPartitions, type PartitionFolder } from "./walk-partitions.ts";

export interface TableRefreshOptions extends RefreshContext, Pick<RefreshRequest, "stableMinutes"> {
  readonly table: RefreshableTable;
  readonly store: ObjectStore;
  readonly partitions: TablePartitions;
}

/** The number of folders at which the progress reaches 50 %: their total is unknown until the end. */
const HALFWAY = 5000;

/**
 * Walks the folders of a table and adds the partitions that the metastore lacks, batch by batch; the next batch is read
 * while one is added. Partitions are never dropped. It can be stopped at any time and run again, as partitions that
 * were added are then no longer missing.
 */
export async function refreshTable(options: TableRefreshOptions): Promise<void> {
  const { table, report } = options;
  const tally = new RefreshTally();
  await report.log([`refreshing ${table.schema}.${table.name} at ${withoutKeys(table.location)}`]);
  await settleLeftover(options, tally);
  try {
    await addMissing(options, tally);
  } finally {
    await report.log(tally.takeSkipped());
    await report.log(tally.countSkipped());
    await report.logSummary(tally.summary());
  }
}

async function addMissing(options: TableRefreshOptions, tally: RefreshTally): Promise<void> {
  const { table, store, report, stableMinutes, signal } = options;
  const walked = walkPartitions(
    store,
    { location: table.location, columns: partitionColumns(table) },
    {
      signal,
      batch: options.partitions.batch,
      withTimes: stableMinutes !== null,
      skip: (location, why) => tally.skip(location, why),
    },
  );
  let adding: Adding = { partitions: [], over: Promise.resolve() };
  try {
    for (;;) {
      const batch = await tally.timed("listing", () => translateErrors(walked.next(), table));
      if (batch.done === true) break;
      tally.found += batch.value.length;
      const missing = await findMissing(batch.value, adding, options, tally);
      const settled = stableMinutes === null ? missing : await onlySettled(missing, stableMinutes, options, tally);
      await report.log(tally.takeSkipped());
      await adding.over;
      if (settled.length > 0) adding = startAdding(settled, options, tally);
      report.progress(Math.floor((100 * tally.found) / (tally.found + HALFWAY)));
    }
    await adding.over;
  } finally {
    await Promise.allSettled([adding.over, walked.return(undefined)]);
  }
}

/** Partitions noted before a crash that the metastore lacks were never added; the walk finds them again. */
async function settleLeftover(options: TableRefreshOptions, tally: RefreshTally): Promise<void> {
  for (const noted of options.journal.unsettled) {
    const added = await findExisting(noted.partitions, options, options.signal);
    await logAdded(added, options, tally);
    await noted.settle(added);
  }
}

/** Those of the partitions that are in the metastore. */
async function findExisting(
  all: readonly RefreshedPartition[],
  { table, partitions }: TableRefreshOptions,
  signal: AbortSignal,
): Promise<RefreshedPartition[]> {
  const found = all.map(({ name, location }) => ({ values: valuesIn(name), location }));
  const missing = new Set((await partitions.missing(found, signal)).map((partition) => nameOf(table, partition)));
  return all.filter(({ name }) => !missing.has(name));
}

function valuesIn(name: string): string[] {
  return (parsePartitionName(name) ?? []).map(({ value }) => value);
}

async function logAdded(
  added: readonly RefreshedPartition[],
  { report }: TableRefreshOptions,
  tally: RefreshTally,
): Promise<void> {
  tally.added += added.length;
  await report.log(added.map(({ name, location }) => `added ${name} at ${location}`));
}

/** If two folders mean the same partition, such as `day=1` and `DAY=1`, only the first counts. */
async function findMissing(
  batch: readonly PartitionFolder[],
  adding: Adding,
  { table, partitions, signal }: TableRefreshOptions,
  tally: RefreshTally,
): Promise<PartitionFolder[]> {
  const valid = batch.filter((folder) => {
    const why = whyNotStorable(table, folder) ?? whyNotReadable(table, folder);
    if (why !== undefined) tally.skip(folder.location, why);
    return why === undefined;
  });
  const missing = await tally.timed("comparing", () => partitions.missing(valid, signal));
  const locations = new Set(missing.map(({ location }) => location));
  const seen = new Map(adding.partitions.map(({ name, location }) => [name, location]));
  const first: PartitionFolder[] = [];
  for (const folder of valid.filter(({ location }) => locations.has(location))) {
    const name = nameOf(table, folder);
    const other = seen.get(name);
    if (other !== undefined) {
      tally.skip(folder.location, `it is the same partition as ${other}`);
      continue;
    }
    seen.set(name, folder.location);
    first.push(folder);
  }
  return first;
}

async function onlySettled(
  folders: readonly PartitionFolder[],
  minutes: number,
  { table, store, report, signal }: TableRefreshOptions,
  tally: RefreshTally,
): Promise<readonly PartitionFolder[]> {
  const since = new Date(Date.now() - minutes * 60_000);
  const { settled, unsettled } = await tally.timed("checking for changes", () =>
    translateErrors(settledFolders(store, folders, { since, signal }), table),
  );
  tally.unsettled += unsettled.length;
  await report.log(
    unsettled.map(
      ({ folder, changed, at }) =>
        `postponed to the next refresh: ${nameOf(table, folder)} at ${folder.location}: ${changed} was changed at ` +
        `${at.toISOString()}, less than ${minutes} min ago`,
    ),
  );
  return settled;
}

/** A batch that is being added. */
interface Adding {
  readonly partitions: readonly RefreshedPartition[];
  readonly over: Promise<void>;
}

function startAdding(folders: readonly PartitionFolder[], options: TableRefreshOptions, tally: RefreshTally): Adding {
  const partitions = folders.map((folder) => ({ name: nameOf(options.table, folder), location: folder.location }));
  const over = tally.timed("adding", () => add(folders, partitions, options, tally));
  over.catch(() => undefined); // rethrown where it is awaited
  return { partitions, over };
}

async function add(
  folders: readonly PartitionFolder[],
  named: readonly RefreshedPartition[],
  options: TableRefreshOptions,
  tally: RefreshTally,
): Promise<void> {
  const { table, partitions, journal, signal } = options;
  const noted = await journal.note(named);
  signal.throwIfAborted();
  const names = await partitions.add(folders, signal).then(
    (added) => new Set(added.map((partition) => nameOf(table, partition))),
    async (error: unknown) => {
      await logPartlyAdded(named, options, tally).catch(() => undefined); // the first error is the one to throw
      throw error;
    },
  );
  const added = named.filter(({ name }) => names.has(name));
  // In this order: after a crash in between, the lines are logged twice rather than never.
  await logAdded(added, options, tally);
  await noted.settle(added);
}

const LAST_CHECK_MS = 3000;

/**
 * A failed batch may have added some. The note stays unsettled: PostgreSQL may still commit a cancelled transaction.
 */
async function logPartlyAdded(
  all: readonly RefreshedPartition[],
  options: TableRefreshOptions,
  tally: RefreshTally,
): Promise<void> {
  await logAdded(await findExisting(all, options, AbortSignal.timeout(LAST_CHECK_MS)), options, tally);
}

async function translateErrors<T>(work: Promise<T>, { location }: RefreshableTable): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw listingFailure(error, location);
  }
}
