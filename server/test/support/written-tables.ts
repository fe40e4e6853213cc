import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { ExternalPartitions } from "../../src/catalog/refresh/external-partitions.ts";
import { nameOf } from "../../src/catalog/refresh/named-partitions.ts";
import { OwnPartitions } from "../../src/catalog/refresh/own-partitions.ts";
import type { FoundPartition, TablePartitions } from "../../src/catalog/refresh/table-partitions.ts";
import { OwnTables } from "../../src/catalog/tables/own-tables.ts";
import type { CatalogTable } from "../../src/catalog/tables/table-catalog.ts";
import type { HiveTable } from "../../src/engines/hive-thrift/hive-structs.ts";
import { asExternal } from "./partitioned-tables.ts";
import type { UsedMetastore } from "./use-metastore.ts";

/** Tables of a real metastore, whose partitions are written by SQL and by Thrift. */
export class WrittenTables {
  readonly #metastore: UsedMetastore;
  readonly #opened: TablePartitions[] = [];

  constructor(metastore: UsedMetastore) {
    this.#metastore = metastore;
  }

  bySql(table: CatalogTable): TablePartitions {
    const partitions = new OwnPartitions(this.#metastore, table);
    this.#opened.push(partitions);
    return partitions;
  }

  byThrift(table: CatalogTable): TablePartitions {
    return new ExternalPartitions(this.#metastore.client, asExternal(table));
  }

  async create(table: HiveTable): Promise<CatalogTable> {
    await this.#metastore.writer.createTable(table);
    const created = await this.find(table.tableName);
    if (created === undefined) throw new Error("the created table was not found");
    return created;
  }

  find(name: string): Promise<CatalogTable | undefined> {
    return new OwnTables(this.#metastore.reader).table("default", name);
  }

  /** Partitions whose folders exist, as in a refresh. */
  found(table: CatalogTable, all: readonly (readonly string[])[]): FoundPartition[] {
    return all.map((values) => {
      const folder = join(this.#metastore.warehouse, table.name, nameOf(table, { values, location: "" }));
      mkdirSync(folder, { recursive: true });
      return { values, location: `file:${folder}` };
    });
  }

  /** The names of the partitions, in order. */
  async names(table: CatalogTable): Promise<string[]> {
    const rows = await this.#metastore.reader.query<{ name: string }>(
      `select p."PART_NAME" as name from "PARTITIONS" p join "TBLS" t using ("TBL_ID") where t."TBL_NAME" = $1`,
      [table.name],
    );
    return rows.map(({ name }) => name).toSorted();
  }

  /** Locks a name during the work, like an unfinished transaction that adds it. */
  async held(table: CatalogTable, name: string, work: (release: () => Promise<void>) => Promise<void>): Promise<void> {
    const other = await this.#metastore.connect();
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
  }

  /** Closes the connections of `bySql`. */
  async close(): Promise<void> {
    await Promise.all(this.#opened.splice(0).map((partitions) => partitions.close()));
  }
}
