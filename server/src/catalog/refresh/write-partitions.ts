import type { Client } from "pg";
import type { Queryable } from "../../db/database.ts";
import { queryableOf } from "../../db/queryable-of.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import type { CatalogTable } from "../tables/table-catalog.ts";
import type { NamedPartition } from "./named-partitions.ts";
import {
  insertPartitions,
  insertStorage,
  insertValues,
  lockTable,
  ordinalsOfIds,
  reserveIds,
  type FirstIds,
} from "./store.ts";
import { tableIsGone } from "./table-partitions.ts";

/** Writes batches of partitions over one connection: a new one for each batch would double its cost. */
export class PartitionWriter {
  readonly #connect: () => Promise<Client>;
  readonly #table: CatalogTable;
  #client: Client | undefined;

  constructor(connect: () => Promise<Client>, table: CatalogTable) {
    this.#connect = connect;
    this.#table = table;
  }

  /** `write` may be repeated after a failure: the ids show what an earlier attempt has added. */
  batch(partitions: readonly NamedPartition[]): { write(signal: AbortSignal): Promise<NamedPartition[]> } {
    let ids: FirstIds | undefined;
    return {
      write: (signal) =>
        this.#connected(signal, async (tx) => {
          const isRepeated = ids !== undefined;
          ids ??= await reserveIds(tx, partitions.length);
          return this.#inTransaction(tx, partitions, ids, isRepeated);
        }),
    };
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => undefined);
  }

  async #connected<T>(signal: AbortSignal, work: (tx: Queryable) => Promise<T>): Promise<T> {
    const client = (this.#client ??= await unlessAborted(signal, this.#connect(), (late) => void late.end()));
    try {
      return await unlessAborted(signal, work(queryableOf(client)));
    } catch (error) {
      await this.close(); // also while a statement runs: PostgreSQL then rolls the transaction back
      throw error;
    }
  }

  async #inTransaction(
    tx: Queryable,
    batch: readonly NamedPartition[],
    ids: FirstIds,
    isRepeated: boolean,
  ): Promise<NamedPartition[]> {
    await tx.query(BEGIN);
    const table = await lockTable(tx, this.#table.identity);
    if (table === undefined) throw tableIsGone(this.#table);
    const before = isRepeated ? await ordinalsOfIds(tx, table, ids, batch.length) : new Set<number>();
    const names = batch.map(({ name }) => name);
    const ordinals = await insertPartitions(tx, table, ids, names);
    const added = batch.map((partition, index) => ({ ...partition, ordinal: index + 1 }));
    const written = added.filter(({ ordinal }) => ordinals.has(ordinal));
    if (written.length > 0) {
      await insertStorage(tx, table, ids, written);
      await insertValues(tx, ids, written);
    }
    await tx.query("commit");
    return batch.filter((_, index) => ordinals.has(index + 1) || before.has(index + 1));
  }
}

/** Far above the time of a batch. A server that crashed must not lock the table for others. */
const BEGIN = `begin; set local statement_timeout = '120s'; set local idle_in_transaction_session_timeout = '60s'`;
