import type { Client } from "pg";
import type { Queryable } from "../../db/database.ts";
import { errorCode, isConflict, isStoreUnavailable, storeFault } from "../../db/store-fault.ts";
import { Fault } from "../../lib/fault.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import type { CatalogTable } from "../tables/table-catalog.ts";
import { assertStorable, nameOf, named, type NamedPartition } from "./named-partitions.ts";
import { FAILOVER_PAUSES_MS, retry } from "./retry.ts";
import { missingNames } from "./store.ts";
import { tableIsGone, type FoundPartition, type TablePartitions } from "./table-partitions.ts";
import { PartitionWriter } from "./write-partitions.ts";

export interface OwnMetastore {
  /** Read-only. */
  readonly reader: Queryable;
  /** Opens a connection that may write; the caller closes it. */
  connect(): Promise<Client>;
}

/** For one statement. */
const NAME_BATCH = 10_000;
/** At the commit PostgreSQL checks every foreign key of every row, and one connection uses only one core for it. */
const WRITERS = 2;
/** For one transaction. */
const LARGEST_BATCH = 5000;
/** Smaller batches would spend most of their time on the transaction itself. */
const SMALLEST_BATCH = 250;

/** The statement timed out: another transaction has locked the table, or one of the partitions, for minutes. */
const QUERY_CANCELED = "57014";

/**
 * Partitions in a metastore of ours, by SQL on its database; the metastore need not run. Each batch is one transaction,
 * so every visible partition is complete.
 */
export class OwnPartitions implements TablePartitions {
  /** A larger batch would block the event loop for longer. */
  readonly batch = 2500;
  readonly #metastore: OwnMetastore;
  readonly #table: CatalogTable;
  readonly #writers: readonly PartitionWriter[];

  constructor(metastore: OwnMetastore, table: CatalogTable) {
    this.#metastore = metastore;
    this.#table = table;
    this.#writers = Array.from({ length: WRITERS }, () => new PartitionWriter(() => metastore.connect(), table));
  }

  async missing(found: readonly FoundPartition[], signal: AbortSignal): Promise<FoundPartition[]> {
    const missing: FoundPartition[] = [];
    for (let from = 0; from < found.length; from += NAME_BATCH) {
      const some = found.slice(from, from + NAME_BATCH);
      const names = some.map((partition) => nameOf(this.#table, partition));
      const read = () => unlessAborted(signal, missingNames(this.#metastore.reader, this.#table.identity, names));
      const ordinals = await retry(read, isTransient, signal, FAILOVER_PAUSES_MS);
      if (ordinals === undefined) throw tableIsGone(this.#table);
      missing.push(...some.filter((_, index) => ordinals.has(index + 1)));
    }
    return missing;
  }

  /** When it fails, all of its writers have stopped before it throws. */
  async add(partitions: readonly FoundPartition[], signal: AbortSignal): Promise<FoundPartition[]> {
    assertStorable(this.#table, partitions);
    const batches = inBatches(named(this.#table, partitions));
    const added: NamedPartition[] = [];
    const failed = new AbortController();
    const either = AbortSignal.any([signal, failed.signal]);
    const write = async (writer: PartitionWriter): Promise<void> => {
      for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
        added.push(...(await this.#addBatch(writer, batch, either)));
      }
    };
    const writing = this.#writers.map((writer) => write(writer));
    try {
      await Promise.all(writing);
    } finally {
      failed.abort();
      await Promise.allSettled(writing);
    }
    return added;
  }

  async close(): Promise<void> {
    await Promise.all(this.#writers.map((writer) => writer.close()));
  }

  async #addBatch(
    writer: PartitionWriter,
    all: readonly NamedPartition[],
    signal: AbortSignal,
  ): Promise<NamedPartition[]> {
    const batch = writer.batch(all);
    try {
      return await retry(() => batch.write(signal), isTransient, signal, FAILOVER_PAUSES_MS);
    } catch (error) {
      throw signal.aborted ? error : storeFault(error);
    }
  }
}

/** Equally large batches, so that no writer is idle while the last one works. */
function inBatches(all: readonly NamedPartition[]): NamedPartition[][] {
  const rounds = Math.ceil(all.length / (WRITERS * LARGEST_BATCH));
  const size = Math.max(SMALLEST_BATCH, Math.ceil(all.length / (rounds * WRITERS)));
  const batches: NamedPartition[][] = [];
  for (let from = 0; from < all.length; from += size) batches.push(all.slice(from, from + size));
  return batches;
}

function isTransient(error: unknown): boolean {
  if (error instanceof Fault) return error.code === "unavailable";
  return errorCode(error) !== QUERY_CANCELED && (isConflict(error) || isStoreUnavailable(error));
}
