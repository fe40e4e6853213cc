import { setImmediate as nextTurn } from "node:timers/promises";
import { hadoopChild, hadoopPath } from "../../engines/hive-tables/hadoop-path.ts";
import type { ObjectStore } from "../../object-store/object-store.ts";
import { inPieces, openAhead } from "./open-ahead.ts";
import { readFolderName, type PartitionColumn } from "./partition-folder.ts";
import type { FoundPartition } from "./table-partitions.ts";

/** A folder whose path names a partition. */
export interface PartitionFolder extends FoundPartition {
  /** Null if it was not requested, or the store does not know it. */
  readonly modifiedAt: Date | null;
}

export interface WalkedTable {
  readonly location: string;
  readonly columns: readonly PartitionColumn[];
}

export interface WalkOptions {
  readonly signal: AbortSignal;
  readonly withTimes: boolean;
  /** How many partitions are yielded at a time. */
  readonly batch: number;
  /** Called for folders that are not partitions. */
  readonly skip: (location: string, why: string) => void;
}

/** For each level. */
const FOLDER_CONCURRENCY = 16;
const PIECE = 1000;

/**
 * Yields the partitions that have folders, level by level, as they are found. The memory in use does not grow with
 * their number. Locations keep the spelling of the table's location, so `s3a:` stays `s3a:`.
 */
export async function* walkPartitions(
  store: ObjectStore,
  { location, columns }: WalkedTable,
  options: WalkOptions,
): AsyncGenerator<readonly PartitionFolder[]> {
  const root: PartitionFolder = { values: [], location: hadoopPath(location), modifiedAt: null };
  const level = (folders: AsyncIterable<readonly PartitionFolder[]>, column: PartitionColumn) =>
    openAhead(folders, FOLDER_CONCURRENCY, (folder) => partitionsIn(store, folder, column, options));
  yield* inPieces(columns.reduce(level, once([root])), options.batch);
}

async function* once<T>(piece: readonly T[]): AsyncGenerator<readonly T[]> {
  yield piece;
}

async function* partitionsIn(
  store: ObjectStore,
  folder: PartitionFolder,
  column: PartitionColumn,
  { signal, withTimes, skip }: WalkOptions,
): AsyncGenerator<readonly PartitionFolder[]> {
  let piece: PartitionFolder[] = [];
  let seen = 0;
  for await (const { kind, name, modifiedAt } of store.folder(folder.location, { signal, withTimes })) {
    seen += 1;
    if (seen % PIECE === 0) {
      await nextTurn(); // a store may return a whole folder at once, which would block the event loop
      signal.throwIfAborted();
    }
    if (kind === "file") continue;
    const location = hadoopChild(folder.location, name);
    const reading = readFolderName(name, column);
    if (reading.kind === "invalid" && kind === "folder") skip(location, reading.why);
    if (reading.kind !== "partition") continue;
    if (kind === "link") {
      skip(location, "it is a symbolic link, which is not followed");
      continue;
    }
    piece.push({ values: [...folder.values, reading.value], location, modifiedAt });
    if (piece.length < PIECE) continue;
    yield piece;
    piece = [];
  }
  if (piece.length > 0) yield piece;
}
