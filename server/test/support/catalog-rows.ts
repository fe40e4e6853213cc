import { join } from "node:path";
import { Client } from "pg";
import { AccountCatalogs } from "../../src/catalog/metastores/account-catalogs.ts";
import { MetastoreDatabases } from "../../src/catalog/metastores/metastore-databases.ts";
import { openKeyRing } from "../../src/lib/key-ring.ts";
import type { AccountClient, Given } from "./given.ts";
import { metastoreRows, type MetastoreRows } from "./metastore-rows.ts";

/** A table with one partition: `day=1`, unless it says otherwise. */
export interface CatalogTable {
  schema: string;
  table: string;
  /** A URI without a slash at the end. */
  location: string;
  partition?: { key: string; type: string; value: string };
}

const DAY = { key: "day", type: "int", value: "1" };

/**
 * Gives an account the catalog that its Spark would have created, without Java: the account's real metastore database
 * and role, with those of Hive's tables that the server reads and writes.
 */
export async function storeCatalog(
  given: Given,
  account: AccountClient,
  tables: readonly CatalogTable[],
): Promise<void> {
  await inCatalog(given, account, async (client) => {
    await client.query(HIVE_TABLES);
    for (const [at, { schema, table, location, partition = DAY }] of tables.entries()) {
      const id = at + 2;
      const isDefault = schema === "default"; // this schema is there already
      const partitionName = `${partition.key}=${partition.value}`;
      const insert = (into: string, ...values: unknown[]): Promise<unknown> =>
        client.query(`insert into "${into}" values (${values.map((_, index) => `$${index + 1}`).join()})`, values);
      if (!isDefault) await insert("DBS", id, schema, `${schema} is a schema`, location);
      await insert("SDS", id, id, "in", false, false, location, -1, "out", id);
      await insert("SDS", id + 100, id, "in", false, false, `${location}/${partitionName}`, -1, "out", id);
      await insert("TBLS", id, isDefault ? 1 : id, id, table, "MANAGED_TABLE", `${table}_owner`, 1_700_000_000);
      await insert("SERDES", id, null, "serde");
      await insert("COLUMNS_V2", id, `comment of ${table}`, `${table}_column`, "bigint", 0);
      await insert("PARTITION_KEYS", id, null, partition.key, partition.type, 0);
      await insert("TABLE_PARAMS", id, "note", `parameter of ${table}`);
      await insert("PARTITIONS", id, 1_700_000_000, 0, partitionName, id + 100, id);
      await insert("PARTITION_KEY_VALS", id, partition.value, 0);
    }
  });
}

/** The whole catalog, for comparisons. */
export async function dumpCatalog(given: Given, account: AccountClient): Promise<MetastoreRows> {
  return inCatalog(given, account, (client) => metastoreRows(client));
}

async function inCatalog<T>(
  given: Given,
  { accountId }: AccountClient,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const { connection } = given.database;
  const catalogs = new AccountCatalogs(given.app.services.db.system, openKeyRing(join(given.dataDir, "keys")));
  const catalog = await catalogs.find(accountId);
  if (catalog.kind !== "own") throw new Error("the account has an external metastore");
  const databases = new MetastoreDatabases({ connection, isEmbedded: true });
  const { database, user, password } = await databases.provide(accountId, catalog.secrets.password);
  const client = new Client({
    host: "127.0.0.1",
    port: connection.port,
    database,
    user,
    password: password.reveal(),
  });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

const HIVE_TABLES = `
  create table "DBS" ("DB_ID" bigint primary key, "NAME" varchar, "DESC" varchar, "DB_LOCATION_URI" varchar);
  create table "SDS" ("SD_ID" bigint primary key, "CD_ID" bigint, "INPUT_FORMAT" varchar, "IS_COMPRESSED" boolean,
    "IS_STOREDASSUBDIRECTORIES" boolean, "LOCATION" varchar, "NUM_BUCKETS" bigint, "OUTPUT_FORMAT" varchar,
    "SERDE_ID" bigint);
  create table "TBLS" ("TBL_ID" bigint primary key, "DB_ID" bigint, "SD_ID" bigint, "TBL_NAME" varchar,
    "TBL_TYPE" varchar, "OWNER" varchar, "CREATE_TIME" bigint);
  create table "SERDES" ("SERDE_ID" bigint, "NAME" varchar, "SLIB" varchar);
  create table "SERDE_PARAMS" ("SERDE_ID" bigint, "PARAM_KEY" varchar, "PARAM_VALUE" text);
  create table "SD_PARAMS" ("SD_ID" bigint, "PARAM_KEY" varchar, "PARAM_VALUE" text);
  create table "BUCKETING_COLS" ("SD_ID" bigint, "BUCKET_COL_NAME" varchar, "INTEGER_IDX" bigint);
  create table "SORT_COLS" ("SD_ID" bigint, "COLUMN_NAME" varchar, "ORDER" bigint, "INTEGER_IDX" bigint);
  create table "COLUMNS_V2" ("CD_ID" bigint, "COMMENT" varchar, "COLUMN_NAME" varchar, "TYPE_NAME" text,
    "INTEGER_IDX" bigint);
  create table "PARTITION_KEYS" ("TBL_ID" bigint, "PKEY_COMMENT" varchar, "PKEY_NAME" varchar, "PKEY_TYPE" varchar,
    "INTEGER_IDX" bigint);
  create table "TABLE_PARAMS" ("TBL_ID" bigint, "PARAM_KEY" varchar, "PARAM_VALUE" text);
  create table "PARTITIONS" ("PART_ID" bigint primary key, "CREATE_TIME" bigint, "LAST_ACCESS_TIME" bigint,
    "PART_NAME" varchar, "SD_ID" bigint, "TBL_ID" bigint, unique ("PART_NAME", "TBL_ID"));
  create table "PARTITION_KEY_VALS" ("PART_ID" bigint, "PART_KEY_VAL" varchar, "INTEGER_IDX" bigint);
  create table "PARTITION_PARAMS" ("PART_ID" bigint, "PARAM_KEY" varchar, "PARAM_VALUE" varchar);
  create table "SEQUENCE_TABLE" ("SEQUENCE_NAME" varchar primary key, "NEXT_VAL" bigint);
  insert into "DBS" values (1, 'default', null, 'file:/w');`;
