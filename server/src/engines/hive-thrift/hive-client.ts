/**
 * A client of Hive metastores from 2.3 to 4, in Thrift's binary protocol on a bare connection: neither TLS nor Kerberos.
 * A leaf library: whose metastore it is, and whether its address may be reached, the caller knows. What the metastore
 * says of a call is a `HiveError`; that it is not there, too slow or none at all is a fault, `unavailable`.
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
import { ours, type HiveDatabase, type HivePartition, type HiveStorage, type HiveTable } from "./hive-structs.ts";
import { parsePartitionName } from "./partition-name.ts";

export type HiveClientOptions = PoolOptions;

export interface PartitionChoice {
  /** For the first partition columns; an empty text stands for any value. */
  readonly values?: readonly string[] | undefined;
  /** Ends after so many. */
  readonly limit?: number | undefined;
  /** Of an answer that is to cost less than the client takes. */
  readonly budgetBytes?: number | undefined;
  readonly keep?: KeepAnswer | undefined;
}

export interface NewPartition {
  readonly values: readonly string[];
  /** Its location with it, whose folder the metastore makes when it is not there. */
  readonly sd: HiveStorage;
  readonly parameters: ReadonlyMap<string, string>;
}

/** A metastore needs 10 to 25 ms for a table: one answer comes after a second or two. */
const tablesAtOnce = 100;
const partitionsAtOnce = 1000;
const longestLimit = 2 ** 15 - 1;
/** Of an answer that is a list of names of databases or tables: some 200,000. */
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

  /** Views, too. None of a database that is not there: `database` tells. */
  tableNames(dbName: string, signal: AbortSignal, keep?: KeepAnswer): Promise<readonly string[]> {
    return this.#pool.call(getAllTables, { dbName }, signal, { budgetBytes: namesBudgetBytes, keep });
  }

  async table(dbName: string, tblName: string, signal: AbortSignal): Promise<HiveTable> {
    const { table } = await this.#pool.call(getTable, { request: { dbName, tblName, capabilities: ours } }, signal);
    return table;
  }

  /**
   * In the order of the names; piece by piece, so that a long list is never in memory as a whole. Those that are not
   * there are left out.
   */
  tables(dbName: string, names: readonly string[], signal: AbortSignal): AsyncGenerator<readonly HiveTable[]> {
    const options = { pieceSize: tablesAtOnce, ahead: this.#pool.maxConnections, signal };
    return heldPieces(names, options, async (tblNames, keep) => {
      const request = { dbName, tblNames, capabilities: ours };
      const { tables } = await this.#pool.call(getTables, { request }, signal, { keep });
      const places = new Map(tblNames.map((name, place) => [name, place]));
      const placeOf = ({ tableName }: HiveTable): number => places.get(tableName) ?? tblNames.length;
      return tables.toSorted((one, other) => placeOf(one) - placeOf(other));
    });
  }

  /** Names as in `day=2026-01-31/hour=7` (`partition-name.ts`). */
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

  /** Piece by piece, those that are not there left out. */
  partitionsByNames(
    dbName: string,
    tableName: string,
    names: readonly string[],
    signal: AbortSignal,
  ): AsyncGenerator<readonly HivePartition[]> {
    const options = { pieceSize: partitionsAtOnce, ahead: this.#pool.maxConnections, signal };
    return heldPieces(names, options, (names, keep) =>
      this.#pool.call(getPartitionsByNames, { dbName, tableName, names }, signal, { keep }),
    );
  }

  /**
   * Those that are there already stay as they are. All or none of one call; when it fails without an answer, either: it
   * may simply be repeated.
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

  /** Ends idle connections at once and those in use with their calls. */
  close(): void {
    this.#pool.close();
  }
}

/**
 * At least one value has to be given: any. To a metastore a value is a pattern, whose `.` (and in some `_`) is any
 * character, so what it gives is checked again; where others have taken the place of those that are asked for, all are
 * asked for.
 */
async function chosenNames(
  { values = [""], limit }: PartitionChoice,
  ask: (values: readonly string[], limit: number) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  if (limit !== undefined && (limit < 1 || limit > longestLimit)) throw new RangeError(`a limit of ${limit}`);
  const isAsked = (name: string): boolean =>
    values.every((value, place) => value === "" || value === parsePartitionName(name)?.[place]?.value);
  const found = await ask(values, limit ?? -1);
  const right = found.filter(isAsked);
  if (limit === undefined || right.length === found.length || found.length < limit) return right;
  return (await ask(values, -1)).filter(isAsked).slice(0, limit);
}
