import { describe, expect, it } from "vitest";
import type { Queryable } from "../../src/db/database.ts";
import { ExternalTables } from "../../src/catalog/tables/external-tables.ts";
import { OwnTables } from "../../src/catalog/tables/own-tables.ts";
import type {
  PartitionAnswer,
  PartitionCombination,
  PartitionQuestion,
} from "../../src/catalog/tables/partition-question.ts";
import type { TableCatalog } from "../../src/catalog/tables/table-catalog.ts";
import { Fault } from "../../src/lib/fault.ts";
import { rolledBack } from "../support/rolled-back.ts";
import { partitionRowsRead, seedOrders, seedVisits } from "../support/seeded-partitions.ts";
import type { UsedMetastore } from "../support/use-metastore.ts";
import { manyTables } from "./sales.ts";

/** One metastore read both ways: both must give the same answers. It has no other databases than those of `sales.ts`. */
export function testTableCatalog(metastore: UsedMetastore): void {
  const ways: [string, () => TableCatalog][] = [
    ["by SQL", () => new OwnTables(metastore.reader)],
    ["by Thrift", () => new ExternalTables(metastore.client)],
  ];

  describe.each(ways)("%s", (_, open) => {
    it("lists schemas in order", async () => {
      expect(await open().schemaNames()).toEqual(["default", "empty", "sales"]);
    });

    it("lists the names of a schema's tables and views in order", async () => {
      expect(await open().tableNames("empty")).toEqual([]);
      expect(await open().tableNames("nowhere")).toBeUndefined();
      // The database of the tests sorts by code points, as JavaScript does.
      const names = [
        ...manyTables.map(({ tableName }) => tableName),
        "big_orders",
        "orders",
        "placed",
        "visits",
      ].toSorted();
      expect(await open().tableNames("Sales")).toEqual(names);
    });

    it("describes the existing tables, in the order of their names", async () => {
      const names = (await open().tableNames("sales")) ?? [];
      const described = await gather(open().describe("sales", [...names, "zzz_gone"]));
      expect(described.map(({ name }) => name)).toEqual(names);
      const found = described.find(({ name }) => name === "orders");
      expect(JSON.parse(found?.columnsJson ?? "")).toEqual([
        { name: "id", type: "bigint" },
        { name: "items", type: "array<struct<sku:string,count:int>>" },
        { name: "day", type: "int" },
        { name: "region", type: "string" },
      ]);
    });

    it("describes only the requested tables", async () => {
      const described = await gather(open().describe("sales", ["big_orders", "t_7", "visits"]));
      expect(described.map(({ name }) => name)).toEqual(["big_orders", "t_7", "visits"]);
    });

    it("returns the properties of a table", async () => {
      expect(await open().table("sales", "gone")).toBeUndefined();
      expect(await open().table("nowhere", "orders")).toBeUndefined();
      expect(await open().table("SALES", "Orders")).toEqual({
        identity: expect.stringMatching(/^\d+$/),
        schema: "sales",
        name: "orders",
        kind: "MANAGED_TABLE",
        owner: "us",
        createdAt: expect.any(Date),
        columns: expect.any(Array),
        partitionKeys: [
          { name: "day", type: "int", comment: null },
          { name: "region", type: "string", comment: null },
        ],
        parameters: new Map([
          ["grüße", "🎉"],
          ["transient_lastDdlTime", expect.any(String)],
        ]),
        location: expect.stringMatching(/^file:.*sales\.db\/orders$/),
        inputFormat: "org.apache.hadoop.mapred.TextInputFormat",
      });
    });

    it("returns the real location of a table whose location Spark hides from Hive", async () => {
      expect(await open().table("sales", "placed")).toMatchObject({ location: "s3a://bucket/placed" });
      expect(await open().table("sales", "big_orders")).toMatchObject({ kind: "VIRTUAL_VIEW" });
    });

    it("lists the partitions of a table, in the order of their names", async () => {
      const partitions = await gather(open().partitions("sales", "orders"));
      expect(partitions.map(({ name }) => name)).toEqual([
        "day=1/region=__HIVE_DEFAULT_PARTITION__",
        "day=1/region=a%2Fb",
        "day=2/region=Köln",
      ]);
      expect(partitions[1]?.location).toMatch(/^file:.*day=1\/region=a%252Fb$/);
      expect(await gather(open().partitions("sales", "placed"))).toEqual([]);
      expect(await gather(open().partitions("sales", "gone"))).toEqual([]);
    });
  });

  describe.each(ways)("%s, a question about partitions", (_, open) => {
    const ask = async (table: string, ...combinations: PartitionCombination[]): Promise<PartitionAnswer> => {
      const [answer] = await open().hasPartitions([{ schema: "sales", table, combinations: () => combinations }]);
      return answer;
    };

    it("with values for all keys matches exactly one partition", async () => {
      expect(await ask("orders", [["2"], ["Köln"]])).toBe(true);
      expect(await ask("orders", [["1"], ["a/b"]])).toBe(true);
      expect(await ask("orders", [["1"], ["__HIVE_DEFAULT_PARTITION__"]])).toBe(true);
      expect(await ask("orders", [["2"], ["a/b"]])).toBe(false);
      expect(await ask("orders", [["2"], ["köln"]])).toBe(false);
      expect(await ask("orders", [["2"], ["K.ln"]])).toBe(false);
    });

    it("accepts any of several spellings", async () => {
      expect(await ask("orders", [["02", "2"], ["Köln"]])).toBe(true);
      expect(await ask("orders", [["02", "3"], undefined])).toBe(false);
      expect(await ask("orders", [["3", "2"], undefined])).toBe(true);
    });

    it("with values for some keys accepts any value of the others", async () => {
      expect(await ask("orders", [["1"], undefined])).toBe(true);
      expect(await ask("orders", [undefined, ["Köln"]])).toBe(true);
      expect(await ask("orders", [undefined, ["a/b"]])).toBe(true);
      expect(await ask("orders", [undefined, ["1"]])).toBe(false);
      expect(await ask("orders", [["Köln"], undefined])).toBe(false);
      expect(await ask("orders", [undefined, ["a.b"]])).toBe(false);
    });

    it("is true only if every combination has a partition", async () => {
      expect(await ask("orders", [["2"], ["Köln"]], [["1"], ["a/b"]])).toBe(true);
      expect(await ask("orders", [["2"], ["Köln"]], [["1"], ["Köln"]])).toBe(false);
      expect(await ask("orders", [["1"], undefined], [["2"], undefined])).toBe(true);
      expect(await ask("orders", [["1"], undefined], [["9"], undefined])).toBe(false);
    });

    it("depends on the partition keys of the table", async () => {
      const keys: string[][] = [];
      const answers = await open().hasPartitions(
        ["orders", "placed", "gone"].map((table) => ({
          schema: "sales",
          table,
          combinations: (given) => {
            keys.push(given.map(({ name, type }) => `${name} ${type}`));
            return given.length === 0 ? new Fault("invalid", "no columns") : [[["2"], ["Köln"]]];
          },
        })),
      );
      expect(answers).toEqual([true, expect.objectContaining({ publicMessage: "no columns" }), undefined]);
      expect(keys).toContainEqual(["day int", "region string"]);
    });
  });

  it("by SQL needs one round trip for many questions about tables whose keys are cached", async () => {
    const statements: string[] = [];
    const tables = new OwnTables({
      query(text, values) {
        statements.push(text);
        return metastore.reader.query(text, values);
      },
    });
    const question = (day: string): PartitionQuestion => ({
      schema: "sales",
      table: "orders",
      combinations: () => [[[day], undefined]],
    });
    expect(await tables.hasPartitions([question("1")])).toEqual([true]);
    statements.length = 0;
    expect(await tables.hasPartitions(["1", "2", "3"].map(question))).toEqual([true, true, false]);
    expect(statements).toHaveLength(1);
  });

  it("by SQL notices that the partition keys of a table have changed", async () => {
    const known = new Map([["sales.orders", [{ name: "year", type: "int", comment: null }]]]);
    const tables = new OwnTables(metastore.reader, { knownKeys: known });
    const combinations: PartitionQuestion["combinations"] = (keys) =>
      keys.length === 2 ? [[["1"], ["a/b"]]] : new Fault("invalid", "outdated keys");
    expect(await tables.hasPartitions([{ schema: "sales", table: "orders", combinations }])).toEqual([true]);
  });

  const crowded: {
    what: string;
    table: string;
    seed: (tx: Queryable) => Promise<void>;
    maxRows: number;
    asks: [PartitionCombination, boolean][];
  }[] = [
    {
      what: "only the wanted ones of 5,000 partitions, whichever keys have values",
      table: "orders",
      seed: seedOrders,
      maxRows: 20,
      asks: [
        [[["4711"], ["r1"]], true],
        [[["4711"], ["r2"]], false],
        [[["4711"], undefined], true],
        [[["9999"], undefined], false],
        [[undefined, ["r4711"]], true],
        [[undefined, ["none"]], false],
      ],
    },
    {
      what: "only those of 12,000 partitions that have the rarest value",
      table: "visits",
      seed: seedVisits,
      // It counts up to a thousand to see that a value is not rare.
      maxRows: 1100,
      asks: [
        [[["US"], ["nope"], undefined], false],
        [[["US"], ["d7"], undefined], true],
        [[["US"], undefined, ["99"]], false],
        [[undefined, ["d7"], ["7"]], true],
        [[undefined, ["nope"], ["7"]], false],
      ],
    },
  ];

  it.each(crowded)("by SQL reads $what", async ({ table, seed, maxRows, asks }) => {
    await rolledBack(metastore.pool, async (tx) => {
      await seed(tx);
      const tables = new OwnTables(tx);
      for (const [combination, expected] of asks) {
        const before = await partitionRowsRead(tx);
        const question = { schema: "sales", table, combinations: () => [combination] };
        expect(await tables.hasPartitions([question])).toEqual([expected]);
        expect((await partitionRowsRead(tx)) - before, JSON.stringify(combination)).toBeLessThan(maxRows);
      }
    });
  });

  it("by SQL refuses to list more names than the limit", async () => {
    const refused = { code: "invalid", publicMessage: expect.stringMatching(/^There are more than 2 names/) };
    const few = new OwnTables(metastore.reader, { maxNames: 2 });
    await expect(few.schemaNames()).rejects.toMatchObject(refused);
    await expect(few.tableNames("sales")).rejects.toMatchObject(refused);
    expect(await few.tableNames("empty")).toEqual([]);
    const enough = new OwnTables(metastore.reader, { maxNames: 3 });
    expect(await enough.schemaNames()).toHaveLength(3);
  });

  it("by SQL reads forged column parameters in small batches, and skips those that are too long", async () => {
    await rolledBack(metastore.pool, async (tx) => {
      await tx.query(
        `insert into "TABLE_PARAMS" ("TBL_ID", "PARAM_KEY", "PARAM_VALUE")
         select "TBL_ID", 'spark.sql.sources.schema.part.' || n, repeat('x', 1000)
           from "TBLS", generate_series(0, 99) as n where "TBL_NAME" like 't\\_%'
         union all
         select "TBL_ID", 'spark.sql.sources.schema', repeat('ä', 20000) from "TBLS" where "TBL_NAME" = 'orders'`,
      );
      let largest = 0;
      const tables = new OwnTables({
        async query<Row extends object>(text: string, values?: readonly unknown[]) {
          const rows = await tx.query<Row>(text, values);
          largest = Math.max(largest, JSON.stringify(rows).length);
          return rows;
        },
      });
      const names = ((await tables.tableNames("sales")) ?? []).filter((name) => /^(?:t_\d+|orders)$/.test(name));
      const pieces = await Array.fromAsync(tables.describe("sales", names));
      // A batch has at most 2,000 parameters.
      expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThanOrEqual(20);
      const described = pieces.flat();
      expect(described.map(({ name }) => name)).toEqual(names);
      expect(described.every(({ columnsJson }) => columnsJson.startsWith('[{"name":"id",'))).toBe(true);
      expect(largest).toBeLessThan(3_000_000);
    });
  });

  it("by SQL reads tables with many columns one at a time, and all columns of each", async () => {
    await rolledBack(metastore.pool, async (tx) => {
      await tx.query(
        `insert into "COLUMNS_V2" ("CD_ID", "COLUMN_NAME", "TYPE_NAME", "INTEGER_IDX")
         select s."CD_ID", 'c' || n, 'int', 10 + n from "TBLS" t join "SDS" s using ("SD_ID"), generate_series(1, 30000) as n
          where t."TBL_NAME" in ('t_0', 't_1')`,
      );
      const pieces = await Array.fromAsync(new OwnTables(tx).describe("sales", ["t_0", "t_1"]));
      expect(pieces.map((piece) => piece.map(({ name }) => name))).toEqual([["t_0"], ["t_1"]]);
      const last = { name: "c30000", type: "int" };
      for (const { columnsJson } of pieces.flat()) expect(JSON.parse(columnsJson)).toContainEqual(last);
    });
  });

  it("by SQL has an index on the values of partitions", async () => {
    const rows = await metastore.reader.query<{ indexdef: string }>(
      `select indexdef from pg_indexes where tablename = 'PARTITION_KEY_VALS'`,
    );
    expect(rows.map(({ indexdef }) => indexdef)).toContainEqual(
      expect.stringContaining(`("PART_KEY_VAL", "INTEGER_IDX", "PART_ID")`),
    );
  });
}

async function gather<T>(pieces: AsyncIterable<readonly T[]>): Promise<T[]> {
  return (await Array.fromAsync(pieces)).flat();
}
