import type { Pool } from "pg";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { nameOf } from "../../src/catalog/refresh/named-partitions.ts";
import type { FoundPartition, TablePartitions } from "../../src/catalog/refresh/table-partitions.ts";
import type { CatalogTable } from "../../src/catalog/tables/table-catalog.ts";
import type { HiveClient } from "../../src/engines/hive-thrift/hive-client.ts";
import type { HiveTable } from "../../src/engines/hive-thrift/hive-structs.ts";
import type { HiveWriter } from "../support/hive-writer.ts";
import { addedRows, metastoreFlaws, metastoreRows, NO_FLAWS } from "../support/metastore-rows.ts";
import { bucketed, days, ODD, placed, text } from "../support/partitioned-tables.ts";
import type { UsedMetastore } from "../support/use-metastore.ts";
import { WrittenTables } from "../support/written-tables.ts";

const never = new AbortController().signal;

/** One metastore written both ways: both must leave the same rows. It has no partitions yet. */
export function testPartitions(metastore: UsedMetastore): void {
  const tables = new WrittenTables(metastore);
  let pool: Pool;
  let client: HiveClient;
  let writer: HiveWriter;

  beforeAll(() => {
    ({ pool, client, writer } = metastore);
  });

  afterEach(async () => {
    await tables.close();
    expect(await metastoreFlaws(pool)).toEqual(NO_FLAWS);
  });

  const bySql = (table: CatalogTable): TablePartitions => tables.bySql(table);
  const byThrift = (table: CatalogTable): TablePartitions => tables.byThrift(table);
  const create = (table: HiveTable): Promise<CatalogTable> => tables.create(table);
  const found = (table: CatalogTable, all: readonly (readonly string[])[]): FoundPartition[] =>
    tables.found(table, all);
  const names = (table: CatalogTable): Promise<string[]> => tables.names(table);

  const waiting = (whose: "ours" | "its own") => (): Promise<number> => metastore.waiting(whose);

  it("can be added by SQL before the metastore has added any, and the metastore continues with higher ids", async () => {
    const table = await create(text("first"));
    const { rowCount } = await pool.query(`select from "SEQUENCE_TABLE" where "SEQUENCE_NAME" like '%.MPartition'`);
    expect(rowCount).toBe(0);
    await bySql(table).add(found(table, [["1", "2026-01-01", "a"]]), never);
    await byThrift(table).add(found(table, [["2", "2026-01-01", "a"]]), never);
    expect(await names(table)).toHaveLength(2);
  });

  const ways: [string, (table: CatalogTable) => TablePartitions, string][] = [
    ["by SQL", bySql, "sql"],
    ["by Thrift", byThrift, "thrift"],
  ];

  describe.each(ways)("%s", (_, open, way) => {
    it("are missing until they are added, and are added only once", async () => {
      const table = await create(text(`${way}_adds`));
      const all = found(table, ODD);
      expect(await open(table).missing(all, never)).toEqual(all);
      await open(table).add(all.slice(0, 3), never);
      expect(await open(table).missing(all, never)).toEqual(all.slice(3));
      const before = await metastoreRows(pool);
      await open(table).add(all.slice(0, 3), never);
      expect(addedRows(before, await metastoreRows(pool), table.name)).toEqual([]);
      await open(table).add(all, never);
      expect(await open(table).missing(all, never)).toEqual([]);
      expect(await names(table)).toEqual(all.map((partition) => nameOf(table, partition)).toSorted());
      const rest = found(table, [["8", "2026-11-15", "b"]]);
      expect(await open(table).missing([...all, ...rest], never)).toEqual(rest);
    });

    it("are visible in the metastore at once, with the storage of the table", async () => {
      const table = await create(text(`${way}_seen`));
      const all = found(table, ODD);
      await open(table).add(all, never);
      const { sd } = await client.table("default", table.name, never);
      const pieces = client.partitionsByNames("default", table.name, await names(table), never);
      const seen = (await Array.fromAsync(pieces)).flat();
      const byValues = (one: { values: readonly string[] }): string => JSON.stringify(one.values);
      expect(
        seen.map(({ values, sd }) => ({ values, sd })).toSorted((a, b) => (byValues(a) < byValues(b) ? -1 : 1)),
      ).toEqual(
        all
          .map(({ values, location }) => ({ values, sd: { ...sd, location } }))
          .toSorted((a, b) => (byValues(a) < byValues(b) ? -1 : 1)),
      );
    });

    it("are added once when two folders mean the same partition", async () => {
      const table = await create(text(`${way}_twice`));
      const [one] = found(table, [["1", "2026-01-01", "a"]]);
      if (one === undefined) throw new Error("none");
      await open(table).add([one, { ...one, location: `${one.location}_other` }], never);
      const pieces = client.partitionsByNames("default", table.name, await names(table), never);
      const seen = (await Array.fromAsync(pieces)).flat();
      expect(seen.map(({ sd }) => sd?.location)).toEqual([one.location]);
    });

    it("are all refused when a metastore cannot store one of them", async () => {
      const table = await create(text(`${way}_long`));
      const [one, other] = found(table, ODD);
      if (one === undefined || other === undefined) throw new Error("none");
      const add = (city: string): Promise<FoundPartition[]> =>
        open(table).add([one, { ...other, values: ["2", "2026-01-01", city] }], never);
      await expect(add("x".repeat(256))).rejects.toThrow(/a value is longer than 255 characters/);
      await expect(add("/".repeat(255))).rejects.toThrow(/its name is longer than 767 characters/);
      await expect(add("\0")).rejects.toThrow(/contains the character U\+0000/);
      await expect(open(table).add([{ ...one, values: ["2"] }], never)).rejects.toThrow(/it needs 3 values/);
      expect(await names(table)).toEqual([]);
    });

    it("are refused for a table that was dropped", async () => {
      const table = await create(text(`${way}_gone`));
      const partitions = open(table);
      await partitions.missing(found(table, ODD), never);
      await writer.dropTable("default", table.name);
      await expect(partitions.add(found(table, ODD), never)).rejects.toThrow(
        `The table default.${table.name} no longer exists.`,
      );
    });
  });

  it("are not added to another table that got the name of a dropped one", async () => {
    const table = await create(text("renewed"));
    const [own, external] = [bySql(table), byThrift(table)];
    await writer.dropTable("default", "renewed");
    await expect.poll(() => Math.floor(Date.now() / 1000)).toBeGreaterThan(table.createdAt.getTime() / 1000);
    await create(text("renewed"));
    for (const partitions of [own, external]) {
      await expect(partitions.add(found(table, ODD), never)).rejects.toThrow(
        "The table default.renewed no longer exists.",
      );
    }
    await expect(own.missing(found(table, ODD), never)).rejects.toThrow("no longer exists");
    expect(await names(table)).toEqual([]);
  });

  it.each([
    ["of text", text],
    ["sorted into buckets", bucketed],
    ["of Spark's own kind, elsewhere", (name: string) => placed(name, metastore.warehouse)],
  ])(
    "have the same rows whether they are added by SQL, by Thrift in batches or by Hive one at a time, for a table %s",
    async (_, make) => {
      const byHive = (table: CatalogTable) => ({ add: (all: FoundPartition[]) => addOneByOne(table, all) });
      const rows: string[][] = [];
      for (const [name, open] of [
        ["one_way", bySql],
        ["other_way", byThrift],
        ["hives_way", byHive],
      ] as const) {
        const table = await create(make(name));
        const before = await metastoreRows(pool);
        await open(table).add(found(table, ODD), never);
        rows.push(addedRows(before, await metastoreRows(pool), name));
        await writer.dropTable("default", name);
      }
      const [sql = [], thrift, hive] = rows;
      expect(sql.length).toBeGreaterThan(ODD.length * 6);
      expect(sql).toEqual(hive);
      expect(thrift).toEqual(hive);
    },
  );

  async function addOneByOne(table: CatalogTable, all: readonly FoundPartition[]): Promise<void> {
    const { sd } = await client.table("default", table.name, never);
    const shared = { dbName: "default", tableName: table.name, parameters: new Map() };
    for (const { values, location } of all) {
      await writer.addPartition({ ...shared, values, sd: { ...sd, location } });
    }
  }

  it("have unique ids, however both ways alternate", async () => {
    const table = await create(text("in_turns"));
    for (let round = 0; round < 6; round += 1) {
      const some = found(table, days(7, round * 20));
      await bySql(table).add(some, never);
      await create(text(`between_${round}`));
      await byThrift(table).add(found(table, days(6, round * 20 + 7)), never);
    }
    expect(await names(table)).toHaveLength(6 * 13);
  });

  describe("while another transaction adds one of them", () => {
    it("wait for it, and are added when it rolls back", async () => {
      const table = await create(text("held"));
      const all = found(table, ODD);
      await tables.held(table, nameOf(table, all[3] ?? fail()), async (release) => {
        const adding = bySql(table).add(all, never);
        await expect.poll(waiting("ours")).toBe(1);
        await release();
        await adding;
      });
      expect(await names(table)).toHaveLength(ODD.length);
    });

    it("can be cancelled at once, and nothing is added", async () => {
      const table = await create(text("held_off"));
      const all = found(table, ODD);
      await tables.held(table, nameOf(table, all[3] ?? fail()), async () => {
        const off = new AbortController();
        const adding = bySql(table).add(all, off.signal);
        await expect.poll(waiting("ours")).toBe(1);
        off.abort(new Error("called off"));
        await expect(adding).rejects.toThrow("called off");
      });
      await expect.poll(waiting("ours")).toBe(0);
      expect(await names(table)).toEqual([]);
      await bySql(table).add(all, never);
      expect(await names(table)).toHaveLength(ODD.length);
    });

    it("are added again when PostgreSQL ends the connection", async () => {
      const table = await create(text("held_killed"));
      const all = found(table, ODD);
      await tables.held(table, nameOf(table, all[3] ?? fail()), async (release) => {
        const adding = bySql(table).add(all, never);
        await expect.poll(waiting("ours")).toBe(1);
        await pool.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and application_name = 'adder' and wait_event_type = 'Lock'`,
        );
        await release();
        await adding;
      });
      expect(await names(table)).toHaveLength(ODD.length);
    });

    it("prevent the table from being dropped until they are added; the drop then removes them", async () => {
      const table = await create(text("held_drop"));
      const all = found(table, ODD);
      await tables.held(table, nameOf(table, all[3] ?? fail()), async (release) => {
        const adding = bySql(table).add(all, never);
        await expect.poll(waiting("ours")).toBe(1);
        const dropping = writer.dropTable("default", table.name);
        await expect.poll(waiting("its own")).toBe(1);
        await release();
        await Promise.all([adding, dropping]);
      });
      expect(await names(table)).toEqual([]);
      expect(await tables.find(table.name)).toBeUndefined();
    });
  });
}

function fail(): never {
  throw new Error("no such partition");
}
