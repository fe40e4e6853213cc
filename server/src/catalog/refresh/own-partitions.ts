import type { Client } from "pg";
import type { Queryable } from "../../db/database.ts";
import { errorCode } from "../../db/error-code.ts";
import { isConflict, isStoreAway, storeFault } from "../../db/store-fault.ts";
import { Fault } from "../../lib/fault.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import type { CatalogTable } from "../tables/table-catalog.ts";
import { assertKept, nameOf, named, type NamedPartition } from "./named-partitions.ts";
import { repeat } from "./repeat.ts";
import { missingNames } from "./store.ts";
import { tableIsGone, type FoundPartition, type TablePartitions } from "./table-partitions.ts";
import { PartitionWriter } from "./write-partitions.ts";

export interface OwnMetastore {
  /** Reads alone. */
  readonly reader: Queryable;
  /** A connection of its own that may write; the caller ends it. */
  connect(): Promise<Client>;
}

/** Of one statement. */
const NAMES_AT_ONCE = 10_000;
/** At the commit PostgreSQL checks every reference of every row, and one connection has but one core for it. */
const WRITERS = 2;
/** Of one transaction. */
const LARGEST_BATCH = 5000;
/** Fewer are not worth a connection of their own. */
const SMALLEST_BATCH = 250;

/** Somebody holds the table, or one of the partitions, for minutes. */
const TOO_LONG = "57014";

/**
 * Partitions in a metastore of ours, which need not run for it: by SQL on its database. Each batch is one transaction,
 * so a partition that anybody sees is complete.
 */
export class OwnPartitions implements TablePartitions {
  /** More would hold up other requests for longer. */
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
    for (let from = 0; from < found.length; from += NAMES_AT_ONCE) {
      const some = found.slice(from, from + NAMES_AT_ONCE);
      const names = some.map((partition) => nameOf(this.#table, partition));
      const ask = () => unlessAborted(signal, missingNames(this.#metastore.reader, this.#table.identity, names));
      const places = await repeat(ask, doesPass, signal);
      if (places === undefined) throw tableIsGone(this.#table);
      missing.push(...some.filter((_, index) => places.has(index + 1)));
    }
    return missing;
  }

  /** Whatever fails, nothing of it is at work any more when it is told. */
  async add(partitions: readonly FoundPartition[], signal: AbortSignal): Promise<FoundPartition[]> {
    assertKept(this.#table, partitions);
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
      return await repeat(() => batch.write(signal), doesPass, signal);
    } catch (error) {
      throw signal.aborted ? error : storeFault(error);
    }
  }
}

/** As large as each other, so that no writer is idle while the last one works. */
function inBatches(all: readonly NamedPartition[]): NamedPartition[][] {
  const rounds = Math.ceil(all.length / (WRITERS * LARGEST_BATCH));
  const size = Math.max(SMALLEST_BATCH, Math.ceil(all.length / (rounds * WRITERS)));
  const batches: NamedPartition[][] = [];
  for (let from = 0; from < all.length; from += size) batches.push(all.slice(from, from + size));
  return batches;
}

function doesPass(error: unknown): boolean {
  if (error instanceof Fault) return error.code === "unavailable";
  return errorCode(error) !== TOO_LONG && (isConflict(error) || isStoreAway(error));
}
