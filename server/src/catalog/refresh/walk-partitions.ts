import { setImmediate as nextTurn } from "node:timers/promises";
import { hadoopChild, hadoopPath } from "../../engines/hive-tables/hadoop-path.ts";
import type { ObjectStore } from "../../engines/object-store/object-store.ts";
import { inPieces, openAhead } from "./open-ahead.ts";
import { readFolderName, type PartitionColumn } from "./partition-folder.ts";
import type { FoundPartition } from "./table-partitions.ts";

/** A folder whose name, and those of the folders above it, say which partition it is. */
export interface PartitionFolder extends FoundPartition {
  /** Null where nobody asked, or the store does not know. */
  readonly modifiedAt: Date | null;
}

export interface WalkedTable {
  readonly location: string;
  readonly columns: readonly PartitionColumn[];
}

export interface WalkOptions {
  readonly signal: AbortSignal;
  /** Whether the times of the folders are wanted, too. */
  readonly withTimes: boolean;
  /** So many partitions come at a time. */
  readonly batch: number;
  /** A folder that is no partition and is left alone. */
  readonly odd: (location: string, why: string) => void;
}

/** Of one level; the levels above it wait while theirs are read. */
const FOLDERS_AT_ONCE = 16;
const PIECE = 1000;

/**
 * The partitions that a table's folders say there are, level by level, as they are found. What is held does not grow with
 * their number. Places are spelled as the table's is, so `s3a:` stays `s3a:`.
 */
export async function* walkPartitions(
  store: ObjectStore,
  { location, columns }: WalkedTable,
  options: WalkOptions,
): AsyncGenerator<readonly PartitionFolder[]> {
  const root: PartitionFolder = { values: [], location: hadoopPath(location), modifiedAt: null };
  const level = (folders: AsyncIterable<readonly PartitionFolder[]>, column: PartitionColumn) =>
    openAhead(folders, FOLDERS_AT_ONCE, (folder) => partitionsIn(store, folder, column, options));
  yield* inPieces(columns.reduce(level, once([root])), options.batch);
}

async function* once<T>(piece: readonly T[]): AsyncGenerator<readonly T[]> {
  yield piece;
}

async function* partitionsIn(
  store: ObjectStore,
  folder: PartitionFolder,
  column: PartitionColumn,
  { signal, withTimes, odd }: WalkOptions,
): AsyncGenerator<readonly PartitionFolder[]> {
  let piece: PartitionFolder[] = [];
  let seen = 0;
  for await (const { kind, name, modifiedAt } of store.folder(folder.location, { signal, withTimes })) {
    seen += 1;
    if (seen % PIECE === 0) {
      await nextTurn(); // a folder may be read all at once, and others have their work, too
      signal.throwIfAborted();
    }
    if (kind === "file") continue;
    const location = hadoopChild(folder.location, name);
    const reading = readFolderName(name, column);
    if (reading.kind === "odd" && kind === "folder") odd(location, reading.why);
    if (reading.kind !== "partition") continue;
    if (kind === "link") {
      odd(location, "it is a symbolic link, which is not followed");
      continue;
    }
    piece.push({ values: [...folder.values, reading.value], location, modifiedAt });
    if (piece.length < PIECE) continue;
    yield piece;
    piece = [];
  }
  if (piece.length > 0) yield piece;
}
