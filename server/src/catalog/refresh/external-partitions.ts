import type { HiveClient, NewPartition } from "../../engines/hive-thrift/hive-client.ts";
import { isTooLong } from "../../engines/hive-thrift/failure.ts";
import { HiveError } from "../../engines/hive-thrift/hive-error.ts";
import type { HiveStorage } from "../../engines/hive-thrift/hive-structs.ts";
import { Fault } from "../../lib/fault.ts";
import { tableIdentity } from "../tables/external-tables.ts";
import type { CatalogTable } from "../tables/table-catalog.ts";
import { assertStorable, named, nameOf, type NamedPartition } from "./named-partitions.ts";
import { retry } from "./retry.ts";
import { tableIsGone, type FoundPartition, type TablePartitions } from "./table-partitions.ts";

/** Maximum number of partitions in one call. A call is one transaction of the metastore and takes a second or two. */
const BATCH = 250;
/** Smaller batches would spend most of their time on the call itself. */
const SMALLEST_BATCH = 50;
/** The number of connections of the client. */
const CALL_CONCURRENCY = 4;

/** The limit for all partition names of a table: half a million names of thirty characters. */
const NAMES_BYTES = 32 * 1024 * 1024;
/** The memory that the client counts for each name besides its characters. */
const NAME_BYTES = 36;

/**
 * Partitions in an external metastore, by Thrift. The names of existing partitions are read once and held until the
 * end, so the memory in use grows with the table, up to a limit.
 */
export class ExternalPartitions implements TablePartitions {
  /** Large, as all connections wait for the last call of a batch. */
  readonly batch = 10_000;
  readonly #client: HiveClient;
  readonly #table: CatalogTable;
  #known: Promise<Set<string>> | undefined;
  /** Memory for the names. */
  #heldBytes = 0;

  constructor(client: HiveClient, table: CatalogTable) {
    this.#client = client;
    this.#table = table;
  }

  async missing(found: readonly FoundPartition[], signal: AbortSignal): Promise<FoundPartition[]> {
    this.#known ??= this.#readNames(signal);
    const known = await this.#known;
    return found.filter((partition) => !known.has(nameOf(this.#table, partition)));
  }

  /**
   * The first call that fails cancels the others. The reply does not say which partitions others added at the same
   * time, so all count as added.
   */
  async add(partitions: readonly FoundPartition[], signal: AbortSignal): Promise<FoundPartition[]> {
    assertStorable(this.#table, partitions);
    const sd = await this.#readStorage(signal);
    const all = named(this.#table, partitions);
    const failed = new AbortController();
    const either = AbortSignal.any([signal, failed.signal]);
    const size = batchSize(all.length);
    const calls: Promise<void>[] = [];
    for (let from = 0; from < all.length; from += size) {
      calls.push(this.#addBatch(all.slice(from, from + size), sd, either));
    }
    try {
      await Promise.all(calls);
    } finally {
      failed.abort();
      await Promise.allSettled(calls);
    }
    return all;
  }

  /** The connections belong to the client. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  async #addBatch(batch: readonly NamedPartition[], sd: HiveStorage, signal: AbortSignal): Promise<void> {
    const { schema, name } = this.#table;
    const parts = batch.map(({ values, location }): NewPartition => ({
      values,
      sd: { ...sd, location },
      parameters: new Map(),
    }));
    await retry(() => this.#client.addPartitions(schema, name, parts, signal), isTransient, signal);
    const known = await this.#known;
    for (const partition of batch) known?.add(partition.name);
    this.#heldBytes += costOf(batch.map(({ name }) => name));
    if (this.#heldBytes > NAMES_BYTES) throw this.#tooMany();
  }

  async #readNames(signal: AbortSignal): Promise<Set<string>> {
    const { schema, name } = this.#table;
    const read = () => this.#client.partitionNames(schema, name, { budgetBytes: NAMES_BYTES }, signal);
    const names = await retry(read, isTransient, signal).catch((error: unknown) => {
      throw isTooLong(error) ? this.#tooMany() : error;
    });
    this.#heldBytes += costOf(names);
    return new Set(names);
  }

  #tooMany(): Fault {
    const { schema, name } = this.#table;
    return new Fault(
      "invalid",
      `The table ${schema}.${name} has more partitions in its metastore than a refresh can compare: their names take ` +
        `more than ${NAMES_BYTES / 1024 / 1024} MB. Set the account's refresh_engine to spark, which has no such limit.`,
    );
  }

  /** Read for each batch, as the table may have been replaced by another one with the same name. */
  async #readStorage(signal: AbortSignal): Promise<HiveStorage> {
    const { schema, name } = this.#table;
    const found = await retry(() => this.#client.table(schema, name, signal), isTransient, signal).catch(
      (error: unknown) => {
        throw error instanceof HiveError && error.kind === "no-such-object" ? tableIsGone(this.#table) : error;
      },
    );
    if (tableIdentity(found) !== this.#table.identity) throw tableIsGone(this.#table);
    const { sd } = found;
    if (sd === undefined)
      throw new Fault(
        "invalid",
        `The table ${schema}.${name} has no storage description, so it cannot have partitions.`,
      );
    return sd;
  }
}

function costOf(names: readonly string[]): number {
  return names.reduce((sum, { length }) => sum + length + NAME_BYTES, 0);
}

/** Spreads the work evenly, so that no connection is idle while the last one works. */
function batchSize(count: number): number {
  const rounds = Math.ceil(count / (BATCH * CALL_CONCURRENCY));
  return Math.max(SMALLEST_BATCH, Math.ceil(count / (rounds * CALL_CONCURRENCY)));
}

/**
 * A lost connection, a partition that others add at the same moment, or too many concurrent reads. The call may have
 * succeeded, but it is idempotent.
 */
function isTransient(error: unknown): boolean {
  if (error instanceof HiveError) return error.kind === "already-exists";
  if (!(error instanceof Fault)) return false;
  return error.code === "rate-limited" || (error.code === "unavailable" && !isTooLong(error));
}
