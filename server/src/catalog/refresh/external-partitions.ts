import type { HiveClient, NewPartition } from "../../engines/hive-thrift/hive-client.ts";
import { isTooLong } from "../../engines/hive-thrift/failure.ts";
import { HiveError } from "../../engines/hive-thrift/hive-error.ts";
import type { HiveStorage } from "../../engines/hive-thrift/hive-structs.ts";
import { Fault } from "../../lib/fault.ts";
import { tableIdentity } from "../tables/external-tables.ts";
import type { CatalogTable } from "../tables/table-catalog.ts";
import { assertKept, named, nameOf, type NamedPartition } from "./named-partitions.ts";
import { repeat } from "./repeat.ts";
import { tableIsGone, type FoundPartition, type TablePartitions } from "./table-partitions.ts";

/** Of one call at most, which is one transaction of the metastore's: a second or two. */
const BATCH = 250;
/** Fewer are not worth a call of their own. */
const SMALLEST_BATCH = 50;
/** As many as the client has connections. */
const CALLS_AT_ONCE = 4;

/** What all names of a table may cost together: half a million of thirty characters. */
const NAMES_BYTES = 32 * 1024 * 1024;
/** A name besides its characters, as the client counts it. */
const NAME_BYTES = 36;

/**
 * Partitions in a metastore that the account has brought, by Thrift. The names of those it has are asked for once and
 * held until the end: what grows with the table here, and so has a bound.
 */
export class ExternalPartitions implements TablePartitions {
  /** At the end of each, connections wait for the last call. */
  readonly batch = 10_000;
  readonly #client: HiveClient;
  readonly #table: CatalogTable;
  #known: Promise<Set<string>> | undefined;
  /** By the names. */
  #heldBytes = 0;

  constructor(client: HiveClient, table: CatalogTable) {
    this.#client = client;
    this.#table = table;
  }

  async missing(found: readonly FoundPartition[], signal: AbortSignal): Promise<FoundPartition[]> {
    this.#known ??= this.#askNames(signal);
    const known = await this.#known;
    return found.filter((partition) => !known.has(nameOf(this.#table, partition)));
  }

  /** The first call that fails calls the others off. Who else adds the same is not told: all count as added. */
  async add(partitions: readonly FoundPartition[], signal: AbortSignal): Promise<FoundPartition[]> {
    assertKept(this.#table, partitions);
    const sd = await this.#askStorage(signal);
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

  /** The connections are the client's. */
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
    await repeat(() => this.#client.addPartitions(schema, name, parts, signal), doesPass, signal);
    const known = await this.#known;
    for (const partition of batch) known?.add(partition.name);
    this.#heldBytes += costOf(batch.map(({ name }) => name));
    if (this.#heldBytes > NAMES_BYTES) throw this.#tooMany();
  }

  async #askNames(signal: AbortSignal): Promise<Set<string>> {
    const { schema, name } = this.#table;
    const ask = () => this.#client.partitionNames(schema, name, { budgetBytes: NAMES_BYTES }, signal);
    const names = await repeat(ask, doesPass, signal).catch((error: unknown) => {
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
        `more than ${NAMES_BYTES / 1024 / 1024} MB. Spark can: set the account's refresh_engine to spark.`,
    );
  }

  /** Each time anew: another table may have got the name. */
  async #askStorage(signal: AbortSignal): Promise<HiveStorage> {
    const { schema, name } = this.#table;
    const found = await repeat(() => this.#client.table(schema, name, signal), doesPass, signal).catch(
      (error: unknown) => {
        throw error instanceof HiveError && error.kind === "no-such-object" ? tableIsGone(this.#table) : error;
      },
    );
    if (tableIdentity(found) !== this.#table.identity) throw tableIsGone(this.#table);
    const { sd } = found;
    if (sd === undefined) throw new Fault("invalid", `The table ${schema}.${name} has no storage of its own.`);
    return sd;
  }
}

function costOf(names: readonly string[]): number {
  return names.reduce((sum, { length }) => sum + length + NAME_BYTES, 0);
}

/** All connections have as much to do, so that none is idle while the last one works. */
function batchSize(count: number): number {
  const rounds = Math.ceil(count / (BATCH * CALLS_AT_ONCE));
  return Math.max(SMALLEST_BATCH, Math.ceil(count / (rounds * CALLS_AT_ONCE)));
}

/**
 * A connection that was lost without an answer: the call may have succeeded, and two are as good as one. So it is with
 * what the metastore says of a partition that somebody else adds at the same moment, and with too many reads at once.
 */
function doesPass(error: unknown): boolean {
  if (error instanceof HiveError) return error.kind === "already-exists";
  if (!(error instanceof Fault)) return false;
  return error.code === "rate-limited" || (error.code === "unavailable" && !isTooLong(error));
}
