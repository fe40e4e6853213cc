import type { Client } from "pg";
import type { Queryable } from "../../db/database.ts";
import { queryableOf } from "../../db/queryable-of.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import type { CatalogTable } from "../tables/table-catalog.ts";
import type { NamedPartition } from "./named-partitions.ts";
import {
  holdTable,
  insertPartitions,
  insertStorage,
  insertValues,
  placesOfIds,
  reserveIds,
  type FirstIds,
} from "./store.ts";
import { tableIsGone } from "./table-partitions.ts";

/** A connection that partitions are written by, batch after batch: a new one would cost each of them as much again. */
export class PartitionWriter {
  readonly #connect: () => Promise<Client>;
  readonly #table: CatalogTable;
  #client: Client | undefined;

  constructor(connect: () => Promise<Client>, table: CatalogTable) {
    this.#connect = connect;
    this.#table = table;
  }

  /** Written as often as it takes; whichever time it was that succeeded, those that were added are known by their ids. */
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
      await this.close(); // also one that is at work: PostgreSQL then undoes the transaction
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
    const table = await holdTable(tx, this.#table.identity);
    if (table === undefined) throw tableIsGone(this.#table);
    const before = isRepeated ? await placesOfIds(tx, table, ids, batch.length) : new Set<number>();
    const names = batch.map(({ name }) => name);
    const places = await insertPartitions(tx, table, ids, names);
    const added = batch.map((partition, index) => ({ ...partition, place: index + 1 }));
    const written = added.filter(({ place }) => places.has(place));
    if (written.length > 0) {
      await insertStorage(tx, table, ids, written);
      await insertValues(tx, ids, written);
    }
    await tx.query("commit");
    return batch.filter((_, index) => places.has(index + 1) || before.has(index + 1));
  }
}

/** Far above what a batch takes; who does not come back must not keep others from the table. */
const BEGIN = `begin; set local statement_timeout = '120s'; set local idle_in_transaction_session_timeout = '60s'`;
