import type { ClientConfig } from "pg";
import { AccountCatalogs } from "../../src/catalog/metastores/account-catalogs.ts";
import { MetastoreDatabases } from "../../src/catalog/metastores/metastore-databases.ts";
import { openDatabase } from "../../src/db/database.ts";
import { openKeyRing } from "../../src/lib/key-ring.ts";
import { locationOf } from "./partition-folders.ts";

/** The part of Hive's own schema that is read and written when partitions are listed and refreshed. */
const SCHEMA = `
create table "DBS" ("DB_ID" bigint primary key, "DESC" varchar(4000), "DB_LOCATION_URI" varchar(4000) not null,
  "NAME" varchar(128) unique);
create table "CDS" ("CD_ID" bigint primary key);
create table "COLUMNS_V2" ("CD_ID" bigint references "CDS" deferrable initially deferred, "COMMENT" varchar(4000), "COLUMN_NAME" varchar(767),
  "TYPE_NAME" text, "INTEGER_IDX" int not null, primary key ("CD_ID", "COLUMN_NAME"));
create table "SERDES" ("SERDE_ID" bigint primary key, "NAME" varchar(128), "SLIB" varchar(4000));
create table "SERDE_PARAMS" ("SERDE_ID" bigint references "SERDES" deferrable initially deferred, "PARAM_KEY" varchar(256), "PARAM_VALUE" text,
  primary key ("SERDE_ID", "PARAM_KEY"));
create table "SDS" ("SD_ID" bigint primary key, "CD_ID" bigint references "CDS" deferrable initially deferred, "INPUT_FORMAT" varchar(4000),
  "IS_COMPRESSED" boolean not null, "IS_STOREDASSUBDIRECTORIES" boolean not null, "LOCATION" varchar(4000),
  "NUM_BUCKETS" bigint not null, "OUTPUT_FORMAT" varchar(4000), "SERDE_ID" bigint references "SERDES" deferrable initially deferred);
create table "SD_PARAMS" ("SD_ID" bigint references "SDS" deferrable initially deferred, "PARAM_KEY" varchar(256), "PARAM_VALUE" text,
  primary key ("SD_ID", "PARAM_KEY"));
create table "BUCKETING_COLS" ("SD_ID" bigint references "SDS" deferrable initially deferred, "BUCKET_COL_NAME" varchar(256), "INTEGER_IDX" bigint,
  primary key ("SD_ID", "INTEGER_IDX"));
create table "SORT_COLS" ("SD_ID" bigint references "SDS" deferrable initially deferred, "COLUMN_NAME" varchar(767), "ORDER" bigint not null,
  "INTEGER_IDX" bigint, primary key ("SD_ID", "INTEGER_IDX"));
create table "TBLS" ("TBL_ID" bigint primary key, "CREATE_TIME" bigint not null, "DB_ID" bigint references "DBS",
  "OWNER" varchar(767), "SD_ID" bigint references "SDS", "TBL_NAME" varchar(256), "TBL_TYPE" varchar(128),
  unique ("TBL_NAME", "DB_ID"));
create table "TABLE_PARAMS" ("TBL_ID" bigint references "TBLS", "PARAM_KEY" varchar(256), "PARAM_VALUE" text,
  primary key ("TBL_ID", "PARAM_KEY"));
create table "PARTITION_KEYS" ("TBL_ID" bigint references "TBLS", "PKEY_COMMENT" varchar(4000), "PKEY_NAME" varchar(128),
  "PKEY_TYPE" varchar(767) not null, "INTEGER_IDX" bigint not null, primary key ("TBL_ID", "PKEY_NAME"));
create table "PARTITIONS" ("PART_ID" bigint primary key, "CREATE_TIME" bigint not null, "LAST_ACCESS_TIME" bigint not null,
  "PART_NAME" varchar(767), "SD_ID" bigint references "SDS" deferrable initially deferred, "TBL_ID" bigint references "TBLS",
  unique ("PART_NAME", "TBL_ID"));
create table "PARTITION_KEY_VALS" ("PART_ID" bigint references "PARTITIONS" deferrable initially deferred, "PART_KEY_VAL" varchar(256),
  "INTEGER_IDX" bigint, primary key ("PART_ID", "INTEGER_IDX"));
create table "PARTITION_PARAMS" ("PART_ID" bigint references "PARTITIONS" deferrable initially deferred, "PARAM_KEY" varchar(256), "PARAM_VALUE" text,
  primary key ("PART_ID", "PARAM_KEY"));
create table "SEQUENCE_TABLE" ("SEQUENCE_NAME" varchar(255) primary key, "NEXT_VAL" bigint not null);
insert into "DBS" values (1, null, 'hdfs://folders/tables', 'default');
`;

export const tableName = (number: number): string => `refreshed_${number}`;

/** Creates the database of the account's metastore with `count` tables that have folders but no partitions yet. */
export async function makeMetastoreTables(
  connection: ClientConfig,
  { accountId, keyFile, count }: { accountId: number; keyFile: string; count: number },
): Promise<void> {
  const db = openDatabase({ ...connection, max: 1 });
  const databases = new MetastoreDatabases({ connection, isEmbedded: false });
  try {
    const catalogs = new AccountCatalogs(db.system, openKeyRing(keyFile));
    const catalog = await catalogs.find(accountId);
    if (catalog.kind !== "own") throw new Error("the account has an external metastore");
    const { password } = catalog.secrets;
    await databases.provide(accountId, password);
    const metastore = await databases.connect(accountId, password);
    try {
      await metastore.query(SCHEMA);
      await metastore.query(insertTables(count));
    } finally {
      await metastore.end();
    }
  } finally {
    await db.close();
  }
}

function insertTables(count: number): string {
  const each = `from generate_series(1, ${count}) as n`;
  const name = tableName(0).slice(0, -1);
  return `
    begin;
    insert into "CDS" select n ${each};
    insert into "COLUMNS_V2" select n, null, 'value', 'string', 0 ${each};
    insert into "SERDES" select n, null, 'org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe' ${each};
    insert into "SERDE_PARAMS" select n, 'serialization.format', '1' ${each};
    insert into "SDS" select n, n, 'org.apache.hadoop.mapred.TextInputFormat', false, false,
      '${locationOf(name)}' || n, -1, 'org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat', n ${each};
    insert into "TBLS" select n, 0, 1, 'chaos', n, '${name}' || n, 'EXTERNAL_TABLE' ${each};
    insert into "PARTITION_KEYS" select n, null, key, 'int', ordinal
      ${each}, lateral (values ('day', 0), ('hour', 1)) as keys (key, ordinal);
    commit`;
}
