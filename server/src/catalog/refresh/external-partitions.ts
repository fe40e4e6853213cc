import type { HiveClient, NewPartition } from "../../engines/hive-thrift/hive-client.ts";
import { HiveError } from "../../engines/hive-thrift/hive-error.ts";
import type { HiveStorage } from "../../engines/hive-thrift/hive-structs.ts";
import { Fault } from "../../lib/fault.ts";
import { tableIdentity } from "../tables/external-tables.ts";
import type { CatalogTable } from "../tables/table-catalog.ts";
import { assertKept, named, nameOf, type NamedPartition } from "./named-partitions.ts";
import { repeat } from "./repeat.ts";
import { tableIsGone, type FoundPartition, type TablePartitions } from "./table-partitions.ts";

/** Of one call at most, which is one transaction of the metastore's: a second or two. */
const BATCH = 500;
/** Fewer are not worth a call of their own. */
const SMALLEST_BATCH = 50;
/** As many as the client has connections. */
const CALLS_AT_ONCE = 4;

/**
 * Partitions in a metastore that the account has brought, by Thrift. The names of those it has are asked for once: a
 * name costs some hundred bytes here, and the client bounds the answer.
 */
export class ExternalPartitions implements TablePartitions {
  readonly #client: HiveClient;
  readonly #table: CatalogTable;
  #known: Promise<Set<string>> | undefined;

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
  }

  async #askNames(signal: AbortSignal): Promise<Set<string>> {
    const { schema, name } = this.#table;
    const ask = () => this.#client.partitionNames(schema, name, {}, signal);
    return new Set(await repeat(ask, doesPass, signal));
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

/** All connections have as much to do, so that none is idle while the last one works. */
function batchSize(count: number): number {
  const rounds = Math.ceil(count / (BATCH * CALLS_AT_ONCE));
  return Math.max(SMALLEST_BATCH, Math.ceil(count / (rounds * CALLS_AT_ONCE)));
}

/**
 * A connection that was lost without an answer: the call may have succeeded, and two are as good as one. So it is with
 * what the metastore says of a partition that somebody else adds at the same moment.
 */
function doesPass(error: unknown): boolean {
  if (error instanceof HiveError) return error.kind === "already-exists";
  return error instanceof Fault && error.code === "unavailable";
}
