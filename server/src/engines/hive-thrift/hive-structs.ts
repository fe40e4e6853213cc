/**
 * The fields that we read or write of tables in metastores 2.3 to 4; all versions have the same field ids. As few fields
 * as possible are required, so that one unusual table does not make a listing fail.
 */
import { bool, i32, list, map, optional, required, string, struct, type ThriftValue } from "./codec/thrift-type.ts";

const texts = map(string, string);

export const column = struct({ name: required(1, string), type: optional(2, string), comment: optional(3, string) });
export type HiveColumn = ThriftValue<typeof column>;

const sortColumn = struct({ col: optional(1, string), order: optional(2, i32) });

const serde = struct({
  name: optional(1, string),
  serializationLib: optional(2, string),
  parameters: optional(3, texts),
});

const skew = struct({
  skewedColNames: optional(1, list(string)),
  skewedColValues: optional(2, list(list(string))),
  skewedColValueLocationMaps: optional(3, map(list(string), string)),
});

/** Where and how rows are stored. A new partition gets the table's storage with another location. */
export const storage = struct({
  cols: optional(1, list(column)),
  location: optional(2, string),
  inputFormat: optional(3, string),
  outputFormat: optional(4, string),
  compressed: optional(5, bool),
  numBuckets: optional(6, i32),
  serdeInfo: optional(7, serde),
  bucketCols: optional(8, list(string)),
  sortCols: optional(9, list(sortColumn)),
  parameters: optional(10, texts),
  skewedInfo: optional(11, skew),
  storedAsSubDirectories: optional(12, bool),
});
export type HiveStorage = ThriftValue<typeof storage>;

export const table = struct({
  tableName: required(1, string),
  dbName: required(2, string),
  owner: optional(3, string),
  createTime: optional(4, i32),
  sd: optional(7, storage),
  partitionKeys: optional(8, list(column)),
  parameters: optional(9, texts),
  viewOriginalText: optional(10, string),
  viewExpandedText: optional(11, string),
  /** `MANAGED_TABLE`, `EXTERNAL_TABLE`, `VIRTUAL_VIEW`, `MATERIALIZED_VIEW` or a later addition. */
  tableType: optional(12, string),
});
export type HiveTable = ThriftValue<typeof table>;

export const partition = struct({
  values: required(1, list(string)),
  dbName: optional(2, string),
  tableName: optional(3, string),
  createTime: optional(4, i32),
  sd: optional(6, storage),
  parameters: optional(7, texts),
});
export type HivePartition = ThriftValue<typeof partition>;

export const database = struct({
  name: required(1, string),
  description: optional(2, string),
  locationUri: optional(3, string),
  parameters: optional(4, texts),
});
export type HiveDatabase = ThriftValue<typeof database>;

/** Metastores refuse access to insert-only tables without this capability. */
const insertOnlyTables = 2;
const capabilities = struct({ values: required(1, list(i32)) });
export const clientCapabilities: ThriftValue<typeof capabilities> = { values: [insertOnlyTables] };

export const tableRequest = struct({
  dbName: required(1, string),
  tblName: required(2, string),
  capabilities: optional(3, capabilities),
});

export const tablesRequest = struct({
  dbName: required(1, string),
  tblNames: required(2, list(string)),
  capabilities: optional(3, capabilities),
});

export const addPartitionsRequest = struct({
  dbName: required(1, string),
  tblName: required(2, string),
  parts: required(3, list(partition)),
  ifNotExists: required(4, bool),
  needResult: optional(5, bool),
});
