import { bool, i32, required, string } from "../../src/engines/hive-thrift/codec/thrift-type.ts";
import { ConnectionPool, type PoolOptions } from "../../src/engines/hive-thrift/connection-pool.ts";
import { hiveFunction } from "../../src/engines/hive-thrift/hive-functions.ts";
import {
  database,
  partition,
  table,
  type HiveDatabase,
  type HivePartition,
  type HiveStorage,
  type HiveTable,
} from "../../src/engines/hive-thrift/hive-structs.ts";

/** Calls of a metastore that only tests need. */
const failures = { 1: "already-exists", 2: "invalid-object", 3: "failed" } as const;
const createDatabase = hiveFunction("create_database", { database: required(1, database) }, null, failures, "write");
const createTable = hiveFunction(
  "create_table",
  { table: required(1, table) },
  null,
  { ...failures, 4: "no-such-object" },
  "write",
);
const alterTable = hiveFunction(
  "alter_table",
  { dbName: required(1, string), name: required(2, string), table: required(3, table) },
  null,
  { 1: "invalid-operation", 2: "failed" },
  "write",
);
const addPartition = hiveFunction("add_partition", { partition: required(1, partition) }, partition, failures, "write");
const dropDatabase = hiveFunction(
  "drop_database",
  { name: required(1, string), withFiles: required(2, bool), withTables: required(3, bool) },
  null,
  { 1: "no-such-object", 2: "invalid-operation", 3: "failed" },
  "write",
);
const dropTable = hiveFunction(
  "drop_table",
  { dbName: required(1, string), name: required(2, string), withFiles: required(3, bool) },
  null,
  { 1: "no-such-object", 2: "failed" },
  "write",
);

const countPartitions = hiveFunction(
  "get_num_partitions_by_filter",
  { dbName: required(1, string), name: required(2, string), filter: required(3, string) },
  i32,
  { 1: "failed", 2: "no-such-object" },
);

export class HiveWriter {
  readonly #pool: ConnectionPool;

  constructor(options: PoolOptions) {
    this.#pool = new ConnectionPool(options);
  }

  async createDatabase(database: HiveDatabase): Promise<void> {
    await this.#pool.call(createDatabase, { database }, soon());
  }

  async createTable(table: HiveTable): Promise<void> {
    await this.#pool.call(createTable, { table }, soon());
  }

  async alterTable(table: HiveTable): Promise<void> {
    await this.#pool.call(alterTable, { dbName: table.dbName, name: table.tableName, table }, soon());
  }

  /** Uses the call for a single partition. */
  async addPartition(partition: HivePartition): Promise<void> {
    await this.#pool.call(addPartition, { partition }, soon());
  }

  /** A call of some engines that has its own code path in the metastore. */
  async partitionCount(dbName: string, name: string): Promise<number> {
    return this.#pool.call(countPartitions, { dbName, name, filter: "" }, soon());
  }

  async dropTable(dbName: string, name: string): Promise<void> {
    await this.#pool.call(dropTable, { dbName, name, withFiles: true }, AbortSignal.timeout(60_000));
  }

  async dropDatabase(name: string): Promise<void> {
    await this.#pool.call(dropDatabase, { name, withFiles: true, withTables: true }, soon());
  }

  close(): void {
    this.#pool.close();
  }
}

/** The storage of a text table. */
export function textStorage(cols: HiveStorage["cols"]): HiveStorage {
  return {
    cols,
    inputFormat: "org.apache.hadoop.mapred.TextInputFormat",
    outputFormat: "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
    numBuckets: -1,
    serdeInfo: {
      serializationLib: "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
      parameters: new Map([["field.delim", "\t"]]),
    },
    bucketCols: [],
    sortCols: [],
    parameters: new Map(),
  };
}

function soon(): AbortSignal {
  return AbortSignal.timeout(60_000);
}
