import { afterEach, describe, expect, it } from "vitest";
import { nameOf } from "../../src/catalog/refresh/named-partitions.ts";
import type { TablePartitions } from "../../src/catalog/refresh/table-partitions.ts";
import type { CatalogTable } from "../../src/catalog/tables/table-catalog.ts";
import { isExhaustive } from "../support/exhaustive.ts";
import { metastoreFlaws, NO_FLAWS } from "../support/metastore-rows.ts";
import { days, text } from "../support/partitioned-tables.ts";
import type { UsedMetastore } from "../support/use-metastore.ts";
import { WrittenTables } from "../support/written-tables.ts";

const never = new AbortController().signal;

/** Several batches by either way. */
const COUNT = isExhaustive ? 1200 : 600;
/** Fewer if many calls add them; still several batches. */
const CONCURRENT_COUNT = isExhaustive ? 600 : 360;

export function testManyPartitions(metastore: UsedMetastore): void {
  const tables = new WrittenTables(metastore);

  afterEach(async () => {
    await tables.close();
    expect(await metastoreFlaws(metastore.pool)).toEqual(NO_FLAWS);
  });

  const create = (name: string): Promise<CatalogTable> => tables.create(text(name));

  const ways: [string, (table: CatalogTable) => TablePartitions, string][] = [
    ["by SQL", (table) => tables.bySql(table), "sql"],
    ["by Thrift", (table) => tables.byThrift(table), "thrift"],
  ];

  it("are each reported by exactly one of two calls that add the same", async () => {
    const table = await create("reported");
    const all = tables.found(table, days(CONCURRENT_COUNT));
    const both = await Promise.all([
      tables.bySql(table).add(all, never),
      tables.bySql(table).add(all.toReversed(), never),
    ]);
    const reported = both.flat().map((partition) => nameOf(table, partition));
    expect(reported.toSorted()).toEqual(all.map((partition) => nameOf(table, partition)).toSorted());
  });

  it("are all added and complete when many calls add the same at once", async () => {
    const table = await create("at_once");
    const all = tables.found(table, days(CONCURRENT_COUNT));
    const shuffled = all.toSorted((a, b) => (a.location.at(-1) ?? "").localeCompare(b.location.at(-1) ?? ""));
    await Promise.all([
      tables.bySql(table).add(all.slice(0, CONCURRENT_COUNT - 60), never),
      tables.byThrift(table).add(all.slice(30, CONCURRENT_COUNT - 30), never),
      tables.bySql(table).add(shuffled, never),
      tables.byThrift(table).add(shuffled.toReversed(), never),
      tables.bySql(table).add(all.toReversed(), never),
    ]);
    expect(await tables.names(table)).toEqual(all.map((partition) => nameOf(table, partition)).toSorted());
  });

  describe.each(ways)("%s", (_, open, way) => {
    it("are added in large numbers", async () => {
      const table = await create(`${way}_many`);
      const all = tables.found(table, days(COUNT));
      const partitions = open(table);
      expect(await partitions.missing(all, never)).toHaveLength(COUNT);
      await partitions.add(all, never);
      expect(await partitions.missing(all, never)).toEqual([]);
      expect(await metastore.client.partitionNames("default", table.name, {}, never)).toHaveLength(COUNT);
    });

    it("are not all added when the call is cancelled", async () => {
      const table = await create(`${way}_off`);
      const all = tables.found(table, days(COUNT));
      const off = new AbortController();
      const adding = open(table).add(all, off.signal);
      off.abort(new Error("called off"));
      await expect(adding).rejects.toThrow("called off");
      await open(table).add(all.slice(0, 10), never);
      expect((await open(table).missing(all, never)).length).toBeLessThanOrEqual(COUNT - 10);
    });
  });
}
