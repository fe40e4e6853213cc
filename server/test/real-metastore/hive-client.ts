import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { HiveClient, type NewPartition } from "../../src/engines/hive-thrift/hive-client.ts";
import { HiveError } from "../../src/engines/hive-thrift/hive-error.ts";
import type { HiveStorage } from "../../src/engines/hive-thrift/hive-structs.ts";
import { noValue, parsePartitionName, partitionName } from "../../src/engines/hive-thrift/partition-name.ts";
import { Fault } from "../../src/lib/fault.ts";
import { Secret } from "../../src/lib/secret.ts";
import { SET_UP_MS } from "../support/connect-server.ts";
import type { HiveWriter } from "../support/hive-writer.ts";
import { addedRows, metastoreFlaws, metastoreRows, NO_FLAWS } from "../support/metastore-rows.ts";
import * as sales from "../support/sales-tables.ts";
import type { UsedMetastore } from "../support/use-metastore.ts";
import { manyTables } from "./sales.ts";

const orders = { ...sales.orders, dbName: "clients" };
const bigOrders = { ...sales.bigOrders, dbName: "clients" };

/** Needs the tables of `sales.ts`, and creates others in the database `clients`. */
export function testHiveClient(metastore: UsedMetastore): void {
  let client: HiveClient;
  let writer: HiveWriter;

  beforeAll(async () => {
    ({ client, writer } = metastore);
    await writer.createDatabase({ name: "clients", description: "what was sold", parameters: new Map([["a", "b"]]) });
    await writer.createTable(orders);
  }, SET_UP_MS);

  /** The metastore creates the folder of each partition that it adds. */
  function partition(day: string, region: string): NewPartition {
    const location = pathToFileURL(join(metastore.warehouse, "elsewhere", day)).href;
    return { values: [day, region], sd: { ...orders.sd, location }, parameters: new Map([["added", "by us"]]) };
  }

  it("lists its databases and describes one", async () => {
    expect(await client.databaseNames(soon())).toEqual(expect.arrayContaining(["default", "clients"]));
    const found = await client.database("clients", soon());
    expect(found).toMatchObject({ name: "clients", description: "what was sold", parameters: new Map([["a", "b"]]) });
    expect(found.locationUri).toMatch(/\/warehouse\/clients\.db$/);
  });

  it("lists tables and views, and describes each with columns, partition columns and parameters", async () => {
    await writer.createTable(bigOrders);
    expect([...(await client.tableNames("clients", soon()))].sort()).toEqual(["big_orders", "orders"]);
    const found = await client.table("clients", "orders", soon());
    expect(found.sd?.cols).toEqual(orders.sd?.cols);
    expect(found.partitionKeys).toEqual(orders.partitionKeys);
    expect(found.parameters?.get("grüße")).toBe("🎉");
    expect(found.sd?.serdeInfo).toMatchObject(orders.sd?.serdeInfo ?? {});
    expect((await client.table("clients", "big_orders", soon())).viewOriginalText).toBe("select 1");
  });

  it("reports missing, existing and invalid objects", async () => {
    const missing = { name: "HiveError", kind: "no-such-object" };
    await expect(client.database("nowhere", soon())).rejects.toMatchObject(missing);
    await expect(client.table("clients", "nothing", soon())).rejects.toMatchObject(missing);
    await expect(client.partitionNames("clients", "nothing", {}, soon())).rejects.toMatchObject(missing);
    await expect(gather(client.tables("nowhere", ["t"], soon()))).rejects.toMatchObject(missing);
    expect(await client.tableNames("nowhere", soon())).toEqual([]);
    await expect(writer.createTable(orders)).rejects.toMatchObject({ kind: "already-exists" });
    await expect(client.addPartitions("clients", "nothing", [partition("1", "a")], soon())).rejects.toThrow(HiveError);
    const odd = { ...orders, tableName: "no name" };
    await expect(writer.createTable(odd)).rejects.toMatchObject({ kind: "invalid-object" });
  });

  it("describes many tables in pieces and omits missing ones", async () => {
    const names = manyTables.map(({ tableName }) => tableName);
    const found = await gather(client.tables("sales", ["gone", ...names], soon()));
    expect(found.map(({ tableName }) => tableName).sort()).toEqual(names.toSorted());
  });

  it("adds partitions once, and lists them by value and limit", async () => {
    const added = ["1", "2", "3"].flatMap((day) => ["a", "b"].map((region) => partition(day, region)));
    await client.addPartitions("clients", "orders", added.slice(0, 4), soon());
    await client.addPartitions("clients", "orders", added, soon());
    const names = await client.partitionNames("clients", "orders", {}, soon());
    expect(names).toHaveLength(6);
    expect(names).toContain("day=2/region=b");
    expect(await client.partitionNames("clients", "orders", { limit: 2 }, soon())).toHaveLength(2);
    expect(await client.partitionNames("clients", "orders", { values: ["2"] }, soon())).toEqual([
      "day=2/region=a",
      "day=2/region=b",
    ]);
    expect(await client.partitionNames("clients", "orders", { values: ["", "b"] }, soon())).toHaveLength(3);
    const [found, ...more] = await gather(
      client.partitionsByNames("clients", "orders", ["day=3/region=a", "day=9/region=a"], soon()),
    );
    expect(more).toEqual([]);
    expect(found?.values).toEqual(["3", "a"]);
    expect(found?.sd).toMatchObject(orders.sd ?? {});
    expect(found?.sd?.location).toMatch(/^file:.*\/elsewhere\/3$/);
    expect(found?.parameters?.get("added")).toBe("by us");
  });

  it("names partitions as partitionName does, for any characters in their values", async () => {
    await writer.createTable({ ...orders, tableName: "odd" });
    const characters = Array.from({ length: 127 }, (_, n) => String.fromCharCode(n + 1)); // PostgreSQL takes no U+0000
    const values = [...characters.map((char) => `x${char}y`), "ä🎉", "%2F", "a%", " ", noValue];
    const parts = values.map((value, n) => partition(String(n), value));
    await client.addPartitions("clients", "odd", parts, soon());
    const names = await client.partitionNames("clients", "odd", {}, soon());
    const expected = parts.map((part) => partitionName([{ name: "DAY" }, { name: "region" }], part.values));
    expect([...names].sort()).toEqual(expected.toSorted());
    const read = names.map((name) => parsePartitionName(name)?.map(({ value }) => value));
    expect(new Map(read.map(([day, region] = []) => [day, region]))).toEqual(
      new Map(parts.map(({ values: [day, region] }) => [day, region])),
    );
    for (const value of ["x.y", "x_y", "x*y", "x%y", "%2F", "x\\y", "x+y", "x(y", noValue]) {
      const asked = { values: ["", value], limit: 1 };
      const name = expected[values.indexOf(value)];
      expect(await client.partitionNames("clients", "odd", asked, soon()), value).toEqual([name]);
    }
    const again = await gather(client.partitionsByNames("clients", "odd", expected, soon()));
    expect(again).toHaveLength(values.length);
  });

  describe("partitions that are added together", () => {
    afterEach(async () => expect(await metastoreFlaws(metastore.pool)).toEqual(NO_FLAWS));

    /** Two partitions for a new table, with the table's storage. */
    async function twoOf(tableName: string): Promise<[NewPartition, NewPartition]> {
      await writer.createTable({ ...orders, tableName });
      const { sd } = await client.table("clients", tableName, soon());
      const of = (day: string): NewPartition => {
        const { location } = partition(day, "a").sd;
        return { values: [day, "a"], sd: { ...sd, location }, parameters: new Map() };
      };
      return [of("1"), of("2")];
    }

    it.each<[string, (sd: HiveStorage) => Pick<NewPartition, "sd" | "parameters">]>([
      ["parameters", (sd) => ({ sd, parameters: new Map([["a", "grüße 🎉"], ["b", ""]]) })], // oxfmt-ignore
      ["columns", (sd) => ({ sd: { ...sd, cols: [{ name: "other", type: "int" }] }, parameters: new Map() })],
      ["a serializer", (sd) => ({ sd: { ...sd, serdeInfo: { name: "own", parameters: new Map() } }, parameters: new Map() })], // oxfmt-ignore
      ["no columns", ({ cols: _, ...sd }) => ({ sd, parameters: new Map() })],
    ])("with %s of their own have the same rows as when Hive adds them one by one", async (_, make) => {
      const rows: string[][] = [];
      for (const name of ["together", "alone"]) {
        const all = (await twoOf(name)).map(({ values, sd }) => ({ values, ...make(sd) }));
        const before = await metastoreRows(metastore.pool);
        if (name === "together") await client.addPartitions("clients", name, all, soon());
        else for (const each of all) await writer.addPartition({ ...each, dbName: "clients", tableName: name });
        rows.push(addedRows(before, await metastoreRows(metastore.pool), name));
        await writer.dropTable("clients", name);
      }
      expect(rows[0]?.length).toBeGreaterThan(2 * 4);
      expect(rows[0]).toEqual(rows[1]);
    });

    it("keep the columns of the request if the table's columns change meanwhile", async () => {
      const all = await twoOf("changing");
      const table = await client.table("clients", "changing", soon());
      const other = await metastore.connect();
      try {
        await other.query("begin");
        await other.query(`lock table "PARTITIONS" in access exclusive mode`);
        const adding = client.addPartitions("clients", "changing", all, soon());
        await expect.poll(() => metastore.waiting("its own")).toBe(1);
        await writer.alterTable({ ...table, sd: { ...table.sd, cols: [{ name: "id", type: "string" }] } });
        await other.query("rollback");
        await adding;
      } finally {
        await other.end();
      }
      const names = await client.partitionNames("clients", "changing", {}, soon());
      const kept = await gather(client.partitionsByNames("clients", "changing", names, soon()));
      expect(kept.map(({ sd }) => sd?.cols)).toEqual([table.sd?.cols, table.sd?.cols]);
    });

    it("are all rejected if one value is too long, and the metastore keeps working", async () => {
      const [one, other] = await twoOf("refused");
      const long = { ...other, values: ["2", "x".repeat(300)] };
      await expect(client.addPartitions("clients", "refused", [one, long], soon())).rejects.toThrow(/too long/);
      expect(await client.partitionNames("clients", "refused", {}, soon())).toEqual([]);
      await client.addPartitions("clients", "refused", [one, other], soon());
      expect(await client.partitionNames("clients", "refused", {}, soon())).toHaveLength(2);
    });
  });

  it("rejects a client with another secret, and the client reports that", async () => {
    const wrongClient = new HiveClient(metastore.clientOptions({ secret: new Secret("guess") }));
    const refused = wrongClient.databaseNames(soon());
    await expect(refused).rejects.toThrow(Fault);
    await expect(refused).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(/did not prove that it knows/),
    });
  });

  it("serves many callers on few connections", async () => {
    const few = new HiveClient(metastore.clientOptions({ maxConnections: 2 }));
    const answers = await Promise.all(Array.from({ length: 40 }, () => few.table("clients", "orders", soon())));
    expect(new Set(answers.map(({ tableName }) => tableName))).toEqual(new Set(["orders"]));
    few.close();
  });
}

async function gather<T>(pieces: AsyncIterable<readonly T[]>): Promise<T[]> {
  return (await Array.fromAsync(pieces)).flat();
}

function soon(): AbortSignal {
  return AbortSignal.timeout(60_000);
}
