import type { ObjectStore } from "../../engines/object-store/object-store.ts";
import { parsePartitionName } from "../../engines/hive-thrift/partition-name.ts";
import { nameOf, whyUnkept } from "./named-partitions.ts";
import { listingFailure, partitionColumns, whyUnread, withoutKeys, type RefreshedTable } from "./refreshed-table.ts";
import type { RefreshContext, RefreshedPartition, RefreshRequest } from "../contract.ts";
import { RefreshTally } from "./refresh-tally.ts";
import { settledFolders } from "./settled-folders.ts";
import type { TablePartitions } from "./table-partitions.ts";
import { walkPartitions, type PartitionFolder } from "./walk-partitions.ts";

export interface TableRefreshOptions extends RefreshContext, Pick<RefreshRequest, "stableMinutes"> {
  readonly table: RefreshedTable;
  readonly store: ObjectStore;
  readonly partitions: TablePartitions;
}

/** At so many folders progress stands at one half: how many there are is known only in the end. */
const HALFWAY = 5000;

/**
 * The folders of a table are walked through, compared with what the metastore knows and added where it does not, batch by
 * batch; while one is added the next is found. Nothing is dropped. It may be ended at any moment and begun again: what was
 * added is not missing any more.
 */
export async function refreshTable(options: TableRefreshOptions): Promise<void> {
  const { table, report } = options;
  const tally = new RefreshTally();
  await report.say([`refreshing ${table.schema}.${table.name} at ${withoutKeys(table.location)}`]);
  await settleUnsure(options, tally);
  try {
    await addMissing(options, tally);
  } finally {
    await report.say(tally.takeOdd());
    await report.say(tally.countOdd());
    await report.conclude(tally.summary());
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
      odd: (location, why) => tally.odd(location, why),
    },
  );
  let adding: Adding = { partitions: [], over: Promise.resolve() };
  try {
    for (;;) {
      const batch = await tally.timed("listing", () => explained(walked.next(), table));
      if (batch.done === true) break;
      tally.found += batch.value.length;
      const missing = await findMissing(batch.value, adding, options, tally);
      const settled = stableMinutes === null ? missing : await onlySettled(missing, stableMinutes, options, tally);
      await report.say(tally.takeOdd());
      await adding.over;
      if (settled.length > 0) adding = startAdding(settled, options, tally);
      report.progress(Math.floor((100 * tally.found) / (tally.found + HALFWAY)));
    }
    await adding.over;
  } finally {
    await Promise.allSettled([adding.over, walked.return(undefined)]);
  }
}

/** What was noted before a crash and is missing was never added; it is found again where it is still there. */
async function settleUnsure(options: TableRefreshOptions, tally: RefreshTally): Promise<void> {
  for (const noted of options.journal.unsure) {
    const added = await knownOf(noted.partitions, options, options.signal);
    await tell(added, options, tally);
    await noted.settle(added);
  }
}

/** Those that the metastore knows. */
async function knownOf(
  all: readonly RefreshedPartition[],
  { table, partitions }: TableRefreshOptions,
  signal: AbortSignal,
): Promise<RefreshedPartition[]> {
  const asked = all.map(({ name, location }) => ({ values: valuesIn(name), location }));
  const missing = new Set((await partitions.missing(asked, signal)).map((partition) => nameOf(table, partition)));
  return all.filter(({ name }) => !missing.has(name));
}

function valuesIn(name: string): string[] {
  return (parsePartitionName(name) ?? []).map(({ value }) => value);
}

async function tell(
  added: readonly RefreshedPartition[],
  { report }: TableRefreshOptions,
  tally: RefreshTally,
): Promise<void> {
  tally.added += added.length;
  await report.say(added.map(({ name, location }) => `added ${name} at ${location}`));
}

/** Each once: of two folders that mean one partition, such as `day=1` and `DAY=1`, the first. */
async function findMissing(
  batch: readonly PartitionFolder[],
  adding: Adding,
  { table, partitions, signal }: TableRefreshOptions,
  tally: RefreshTally,
): Promise<PartitionFolder[]> {
  const kept = batch.filter((folder) => {
    const why = whyUnkept(table, folder) ?? whyUnread(table, folder);
    if (why !== undefined) tally.odd(folder.location, why);
    return why === undefined;
  });
  const missing = await tally.timed("comparing", () => partitions.missing(kept, signal));
  const places = new Set(missing.map(({ location }) => location));
  const met = new Map(adding.partitions.map(({ name, location }) => [name, location]));
  const first: PartitionFolder[] = [];
  for (const folder of kept.filter(({ location }) => places.has(location))) {
    const name = nameOf(table, folder);
    const other = met.get(name);
    if (other !== undefined) {
      tally.odd(folder.location, `it means the same partition as ${other}`);
      continue;
    }
    met.set(name, folder.location);
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

/** A batch that is being added. */
interface Adding {
  readonly partitions: readonly RefreshedPartition[];
  readonly over: Promise<void>;
}

function startAdding(folders: readonly PartitionFolder[], options: TableRefreshOptions, tally: RefreshTally): Adding {
  const partitions = folders.map((folder) => ({ name: nameOf(options.table, folder), location: folder.location }));
  const over = tally.timed("adding", () => add(folders, partitions, options, tally));
  over.catch(() => undefined); // thrown where it is waited for
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
      await tellFailed(named, options, tally).catch(() => undefined); // what has failed is what is thrown
      throw error;
    },
  );
  const added = named.filter(({ name }) => names.has(name));
  // In this order: said twice, where a crash comes between, is better than never.
  await tell(added, options, tally);
  await noted.settle(added);
}

const LAST_LOOK_MS = 3000;

/** Some of them may be there. The journal stays unsure: of what was called off PostgreSQL may still commit a part. */
async function tellFailed(
  all: readonly RefreshedPartition[],
  options: TableRefreshOptions,
  tally: RefreshTally,
): Promise<void> {
  await tell(await knownOf(all, options, AbortSignal.timeout(LAST_LOOK_MS)), options, tally);
}

async function explained<T>(work: Promise<T>, { location }: RefreshedTable): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw listingFailure(error, location);
  }
}
