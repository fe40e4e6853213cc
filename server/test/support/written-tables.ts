import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Client, Pool } from "pg";
import { ExternalPartitions } from "../../src/catalog/refresh/external-partitions.ts";
import { nameOf } from "../../src/catalog/refresh/named-partitions.ts";
import { OwnPartitions } from "../../src/catalog/refresh/own-partitions.ts";
import type { FoundPartition, TablePartitions } from "../../src/catalog/refresh/table-partitions.ts";
import { OwnTables } from "../../src/catalog/tables/own-tables.ts";
import type { CatalogTable } from "../../src/catalog/tables/table-catalog.ts";
import type { Queryable } from "../../src/db/database.ts";
import { HiveClient } from "../../src/engines/hive-thrift/hive-client.ts";
import type { HiveTable } from "../../src/engines/hive-thrift/hive-structs.ts";
import { Secret } from "../../src/lib/secret.ts";
import { HiveWriter } from "./hive-writer.ts";
import { asBrought } from "./partitioned-tables.ts";
import { startTestMetastore } from "./test-metastore.ts";

/** Tables of a metastore of their own, whose partitions are written by SQL and by Thrift. */
export interface WrittenTables {
  readonly pool: Pool;
  readonly client: HiveClient;
  readonly writer: HiveWriter;
  readonly warehouse: string;
  /** Its connections call themselves `adder`. */
  bySql(table: CatalogTable): TablePartitions;
  byThrift(table: CatalogTable): TablePartitions;
  create(table: HiveTable): Promise<CatalogTable>;
  find(name: string): Promise<CatalogTable | undefined>;
  /** Their folders are there, as those of a refresh are. */
  found(table: CatalogTable, all: readonly (readonly string[])[]): FoundPartition[];
  /** Of the partitions, in order. */
  names(table: CatalogTable): Promise<string[]>;
  /** Holds a name during the work, as one who adds it and has not come to an end. */
  held(table: CatalogTable, name: string, work: (release: () => Promise<void>) => Promise<void>): Promise<void>;
  /** To its database; the caller ends it. It calls itself `adder`, too. */
  connect(): Promise<Client>;
  /** What `bySql` has opened. */
  closeOpened(): Promise<void>;
  close(): Promise<void>;
}

export async function openWrittenTables(): Promise<WrittenTables> {
  const metastore = await startTestMetastore();
  const { port, secret, connection, warehouse } = metastore;
  const options = { host: "127.0.0.1", port, checkAddress: () => null, user: "us", secret: new Secret(secret) };
  const pool = new Pool({ ...connection, max: 4 });
  const client = new HiveClient(options);
  const writer = new HiveWriter(options);
  const reader: Queryable = {
    query: async <Row extends object>(text: string, values: readonly unknown[] = []) =>
      (await pool.query<Row>(text, [...values])).rows,
  };
  const connect = async (): Promise<Client> => {
    const own = new Client({ ...connection, application_name: "adder" });
    own.on("error", () => undefined);
    await own.connect();
    return own;
  };
  const find = (name: string): Promise<CatalogTable | undefined> => new OwnTables(reader).table("default", name);
  const opened: TablePartitions[] = [];
  return {
    pool,
    client,
    writer,
    warehouse,
    connect,
    find,
    bySql(table) {
      const partitions = new OwnPartitions({ reader, connect }, table);
      opened.push(partitions);
      return partitions;
    },
    byThrift: (table) => new ExternalPartitions(client, asBrought(table)),
    async create(table) {
      await writer.createTable(table);
      const created = await find(table.tableName);
      if (created === undefined) throw new Error("not there");
      return created;
    },
    found: (table, all) =>
      all.map((values) => {
        const folder = join(warehouse, table.name, nameOf(table, { values, location: "" }));
        mkdirSync(folder, { recursive: true });
        return { values, location: `file:${folder}` };
      }),
    async names(table) {
      const rows = await reader.query<{ name: string }>(
        `select p."PART_NAME" as name from "PARTITIONS" p join "TBLS" t using ("TBL_ID") where t."TBL_NAME" = $1`,
        [table.name],
      );
      return rows.map(({ name }) => name).toSorted();
    },
    async held(table, name, work) {
      const other = await connect();
      try {
        await other.query("begin");
        await other.query(
          `insert into "PARTITIONS" ("PART_ID", "CREATE_TIME", "LAST_ACCESS_TIME", "PART_NAME", "TBL_ID")
           select -1, 0, 0, $2, "TBL_ID" from "TBLS" where "TBL_NAME" = $1`,
          [table.name, name],
        );
        await work(async () => void (await other.query("rollback")));
      } finally {
        await other.end();
      }
    },
    async closeOpened() {
      await Promise.all(opened.splice(0).map((partitions) => partitions.close()));
    },
    async close() {
      client.close();
      writer.close();
      await pool.end();
      await metastore.stop();
    },
  };
}
