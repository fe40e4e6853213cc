/**
 * A client of Hive metastores 2.3 to 4, by Thrift's binary protocol without TLS and Kerberos. The caller decides whether
 * the address is allowed. Errors that the metastore returns are a `HiveError`; a metastore that is unreachable, too slow
 * or not a metastore is a fault, `unavailable`.
 */
import type { KeepAnswer } from "./call-gate.ts";
import { ConnectionPool, type PoolOptions } from "./connection-pool.ts";
import { heldPieces } from "./held-pieces.ts";
import {
  addPartitions,
  getAllDatabases,
  getAllTables,
  getDatabase,
  getPartitionNames,
  getPartitionsByNames,
  getTable,
  getTables,
} from "./hive-functions.ts";
import {
  clientCapabilities,
  type HiveDatabase,
  type HivePartition,
  type HiveStorage,
  type HiveTable,
} from "./hive-structs.ts";
import { parsePartitionName } from "./partition-name.ts";

export type HiveClientOptions = PoolOptions;

export interface PartitionChoice {
  /** Values of the first partition columns; an empty string matches any value. */
  readonly values?: readonly string[] | undefined;
  /** Largest number of names to return. */
  readonly limit?: number | undefined;
  /** A smaller limit for the answer than the pool's. */
  readonly budgetBytes?: number | undefined;
  readonly keep?: KeepAnswer | undefined;
}

export interface NewPartition {
  readonly values: readonly string[];
  /** Includes the location, whose folder the metastore creates if it is missing. */
  readonly sd: HiveStorage;
  readonly parameters: ReadonlyMap<string, string>;
}

/** A metastore needs 10 to 25 ms per table, so that a call takes one or two seconds. */
const tablesPerCall = 100;
const partitionsPerCall = 1000;
const maxLimit = 2 ** 15 - 1;
/** Enough for about 200,000 names of databases or tables. */
const namesBudgetBytes = 32 * 1024 * 1024;

export class HiveClient {
  readonly #pool: ConnectionPool;

  constructor(options: HiveClientOptions) {
    this.#pool = new ConnectionPool(options);
  }

  databaseNames(signal: AbortSignal, keep?: KeepAnswer): Promise<readonly string[]> {
    return this.#pool.call(getAllDatabases, {}, signal, { budgetBytes: namesBudgetBytes, keep });
  }

  database(name: string, signal: AbortSignal): Promise<HiveDatabase> {
    return this.#pool.call(getDatabase, { name }, signal);
  }

  /** Includes views. Empty if the database does not exist, which `database` reports. */
  tableNames(dbName: string, signal: AbortSignal, keep?: KeepAnswer): Promise<readonly string[]> {
    return this.#pool.call(getAllTables, { dbName }, signal, { budgetBytes: namesBudgetBytes, keep });
  }

  async table(dbName: string, tblName: string, signal: AbortSignal): Promise<HiveTable> {
    const { table } = await this.#pool.call(
      getTable,
      { request: { dbName, tblName, capabilities: clientCapabilities } },
      signal,
    );
    return table;
  }

  /**
   * In the order of the names and in pieces, so that a long list is never entirely in memory. Missing tables are omitted.
   */
  tables(dbName: string, names: readonly string[], signal: AbortSignal): AsyncGenerator<readonly HiveTable[]> {
    const options = { pieceSize: tablesPerCall, ahead: this.#pool.maxConnections, signal };
    return heldPieces(names, options, async (tblNames, keep) => {
      const request = { dbName, tblNames, capabilities: clientCapabilities };
      const { tables } = await this.#pool.call(getTables, { request }, signal, { keep });
      const positions = new Map(tblNames.map((name, position) => [name, position]));
      const positionOf = ({ tableName }: HiveTable): number => positions.get(tableName) ?? tblNames.length;
      return tables.toSorted((one, other) => positionOf(one) - positionOf(other));
    });
  }

  /** Names such as `day=2026-01-31/hour=7` (`partition-name.ts`). */
  partitionNames(
    dbName: string,
    tableName: string,
    choice: PartitionChoice,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    return chosenNames(choice, (values, limit) =>
      this.#pool.call(getPartitionNames, { dbName, tableName, values, limit }, signal, choice),
    );
  }

  /** In pieces. Missing partitions are omitted. */
  partitionsByNames(
    dbName: string,
    tableName: string,
    names: readonly string[],
    signal: AbortSignal,
  ): AsyncGenerator<readonly HivePartition[]> {
    const options = { pieceSize: partitionsPerCall, ahead: this.#pool.maxConnections, signal };
    return heldPieces(names, options, (names, keep) =>
      this.#pool.call(getPartitionsByNames, { dbName, tableName, names }, signal, { keep }),
    );
  }

  /**
   * Adds all partitions or none; existing ones stay unchanged. If the call fails without an answer, the outcome is unknown,
   * and the call can be repeated.
   */
  async addPartitions(
    dbName: string,
    tblName: string,
    partitions: readonly NewPartition[],
    signal: AbortSignal,
  ): Promise<void> {
    const parts = partitions.map((partition) => ({ ...partition, dbName, tableName: tblName }));
    await this.#pool.call(
      addPartitions,
      { request: { dbName, tblName, parts, ifNotExists: true, needResult: false } },
      signal,
    );
  }

  /** Closes idle connections now, and the others when their calls end. */
  close(): void {
    this.#pool.close();
  }
}

/**
 * Metastores treat a value as a pattern in which `.` (in some versions also `_`) matches any character, so the names are
 * filtered again. If wrong names used up the limit, the request is repeated without a limit. Metastores require at least
 * one value, so the default is one that matches anything.
 */
async function chosenNames(
  { values = [""], limit }: PartitionChoice,
  request: (values: readonly string[], limit: number) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  if (limit !== undefined && (limit < 1 || limit > maxLimit)) {
    throw new RangeError(`the limit must be between 1 and ${maxLimit}, not ${limit}`);
  }
  const matches = (name: string): boolean =>
    values.every((value, index) => value === "" || value === parsePartitionName(name)?.[index]?.value);
  const found = await request(values, limit ?? -1);
  const matching = found.filter(matches);
  if (limit === undefined || matching.length === found.length || found.length < limit) return matching;
  return (await request(values, -1)).filter(matches).slice(0, limit);
}
