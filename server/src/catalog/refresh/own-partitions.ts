import type { Client } from "pg";
import type { Queryable } from "../../db/database.ts";
import { isStoreAway, storeFault } from "../../db/store-fault.ts";
import { Fault } from "../../lib/fault.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import { codeOf } from "../metastores/store/metastore-database.ts";
import type { CatalogTable } from "../tables/table-catalog.ts";
import { assertKept, nameOf, named, type NamedPartition } from "./named-partitions.ts";
import { repeat } from "./repeat.ts";
import {
  findTableId,
  holdTable,
  insertPartitions,
  insertStorage,
  insertValues,
  limitTransaction,
  missingNames,
  reserveIds,
} from "./store.ts";
import { tableIsGone, type FoundPartition, type TablePartitions } from "./table-partitions.ts";

export interface OwnMetastore {
  /** Reads alone. */
  readonly reader: Queryable;
  /** A connection of its own that may write; the caller ends it. */
  connect(): Promise<Client>;
}

/** Of one transaction. */
const BATCH = 10_000;

// Two who waited for each other, and what an ALTER TABLE took away between a look and a reference: gone with the next try.
const CROSSED = new Set(["40P01", "40001", "23503"]);

/** Somebody holds the table, or one of the partitions, for minutes. */
const TOO_LONG = "57014";

/**
 * Partitions in a metastore of ours, which need not run for it: by SQL on its database. Each batch is one transaction,
 * so a partition that anybody sees is complete.
 */
export class OwnPartitions implements TablePartitions {
  readonly #metastore: OwnMetastore;
  readonly #table: CatalogTable;
  #tableId: Promise<string> | undefined;

  constructor(metastore: OwnMetastore, table: CatalogTable) {
    this.#metastore = metastore;
    this.#table = table;
  }

  async missing(found: readonly FoundPartition[], signal: AbortSignal): Promise<FoundPartition[]> {
    const tableId = await this.#id();
    const missing: FoundPartition[] = [];
    for (let from = 0; from < found.length; from += BATCH) {
      signal.throwIfAborted();
      const some = found.slice(from, from + BATCH);
      const names = some.map((partition) => nameOf(this.#table, partition));
      const places = await unlessAborted(signal, missingNames(this.#metastore.reader, tableId, names));
      missing.push(...some.filter((_, index) => places.has(index + 1)));
    }
    return missing;
  }

  async add(partitions: readonly FoundPartition[], signal: AbortSignal): Promise<void> {
    assertKept(this.#table, partitions);
    const tableId = await this.#id();
    const all = named(this.#table, partitions);
    for (let from = 0; from < all.length; from += BATCH) {
      const batch = all.slice(from, from + BATCH);
      await repeat(() => this.#addBatch(tableId, batch, signal), doesPass, signal).catch((error: unknown) => {
        throw signal.aborted ? error : storeFault(error);
      });
    }
  }

  /** The table that was there at first: not another one of the same name that is made meanwhile. */
  #id(): Promise<string> {
    const { schema, name } = this.#table;
    this.#tableId ??= findTableId(this.#metastore.reader, schema, name).then((id) => {
      if (id === undefined) throw tableIsGone(this.#table);
      return id;
    });
    return this.#tableId;
  }

  async #addBatch(tableId: string, batch: readonly NamedPartition[], signal: AbortSignal): Promise<void> {
    const client = await unlessAborted(signal, this.#metastore.connect(), (late) => void late.end());
    try {
      await unlessAborted(signal, this.#inTransaction(client, tableId, batch));
    } finally {
      // Also one that is at work: PostgreSQL then undoes the transaction.
      await client.end().catch(() => undefined);
    }
  }

  async #inTransaction(client: Client, tableId: string, batch: readonly NamedPartition[]): Promise<void> {
    const tx: Queryable = {
      query: async <Row extends object>(text: string, values: readonly unknown[] = []) =>
        (await client.query<Row>(text, [...values])).rows,
    };
    const ids = await reserveIds(tx, batch.length);
    await tx.query("begin");
    await limitTransaction(tx);
    const table = await holdTable(tx, tableId);
    if (table === undefined) throw tableIsGone(this.#table);
    const places = await insertPartitions(
      tx,
      table,
      ids,
      batch.map(({ name }) => name),
    );
    const added = batch
      .map((partition, index) => ({ ...partition, place: index + 1 }))
      .filter(({ place }) => places.has(place));
    if (added.length > 0) {
      await insertStorage(tx, table, ids, added);
      await insertValues(tx, ids, added);
    }
    await tx.query("commit");
  }
}

function doesPass(error: unknown): boolean {
  if (error instanceof Fault || codeOf(error) === TOO_LONG) return false;
  return CROSSED.has(codeOf(error)) || isStoreAway(error);
}
