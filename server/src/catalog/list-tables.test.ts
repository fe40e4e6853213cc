import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { storeCatalog } from "../../test/support/catalog-rows.ts";
import { sparkIsMissing } from "../../test/support/spark-missing.ts";
import { useServer } from "../../test/support/given.ts";
import { runSql, useSpark } from "../../test/support/spark.ts";

describe("for an account that has never used Spark", () => {
  const given = useServer();

  test("an empty schema `default` is the only one listed", async () => {
    const account = await given.account();
    expect(await account.get("/hive")).toEqual(["default"]);
    expect(await account.get("/hive?describe=false")).toEqual(["default"]);
    const paging_info = { previous_page: null, next_page: null, per_page: 10 };
    expect(await account.get("/hive?describe=true")).toEqual({ paging_info, schemas: { default: [] } });
    await account.get("/hive?describe=true&per_page=0").refused(422, /^per_page must be at least 1/);
    await account.get("/hive?describe=perhaps").refused(422, /^describe must be a boolean/);
    expect(await account.get("/hive/default")).toEqual([]);
    expect(await account.get("/hive/DEFAULT?describe=true")).toEqual([]);
    await account.get("/hive/other").refused(404);
    await account.get("/hive/default/t").refused(404);
    await account.get("/hive/default/t/partitions").refused(404);
    await account.get("/hive/default/t/table_properties").refused(404);
    await account.get("/hive/default/t/properties").refused(404);
  });

  test("any number of listings may follow each other, refused ones included", async () => {
    const account = await given.account();
    for (let time = 0; time < 12; time += 1) {
      expect(await account.get("/hive/default")).toEqual([]);
      await account.get("/hive/default?filter=(").refused(422);
    }
    const together = await Promise.all(Array.from({ length: 8 }, () => account.get("/hive/default?describe=true")));
    expect(together.flat()).toEqual([]);
  });

  test.each([
    ["describe=false", /^describe must be true$/],
    ["describe=", /^describe/],
    ["filter=(", /^filter must be a regular expression in RE2 syntax: .*: `\(`$/],
    [`filter=${"a".repeat(513)}`, /^filter/],
    [
      `filter=${encodeURIComponent(String.raw`(\pL{1000})(\pL{1000})(\pL{1000})(\pL{1000})(\pL{1000})(\pL{1000})`)}`,
      /^filter is too large/,
    ],
  ])("%s is refused", async (query, message) => {
    const account = await given.account();
    await account.get(`/hive/default?${query}`).refused(422, message);
  });
});

describe("all schemas with their tables", () => {
  const given = useServer();

  test("are listed in pages, each table as in the list of its schema", async () => {
    const account = await given.account();
    const tables = [
      { schema: "a", table: "one" },
      { schema: 'b"', table: "two" },
      { schema: "default", table: "three" },
      { schema: "default", table: "__proto__" },
    ];
    await storeCatalog(
      given,
      account,
      tables.map((each) => ({ ...each, location: "file:/w" })),
    );
    const { schemas, paging_info: paging } = await account.get("/hive?describe=true&per_page=2");
    expect(paging).toEqual({ previous_page: null, next_page: 2, per_page: 2 });
    expect(Object.keys(schemas)).toEqual(["a", 'b"']);
    const columns = [
      { name: "one_column", type: "bigint" },
      { name: "day", type: "int" },
    ];
    expect(schemas.a).toEqual([{ one: { columns } }]);
    const last = await account.get("/hive?describe=true&per_page=2&page=2").reply();
    const listed = await account.get("/hive/default?describe=true").reply();
    expect(last.text).toContain(`"schemas":{"default":${listed.text}}}`);
    expect((await account.get("/hive?describe=true&page=9")).schemas).toEqual({});
    await (await given.member(account, { groups: ["system-user"] })).get("/hive?describe=true").refused(403);
  });
});

describe.skipIf(sparkIsMissing)("tables created by Spark", () => {
  const spark = useSpark();
  const schema = `s_${randomBytes(4).toString("hex")}`;

  test("are listed with their columns, whatever their format", async () => {
    const { account } = spark;
    await runSql(
      account,
      `create schema ${schema};
       create table ${schema}.orders (id bigint comment 'key', price decimal(12,2), code varchar(7),
         tags array<string>, who struct<name: string, ids: map<string, int>>, dt date, Region string)
         using parquet partitioned by (dt, Region);
       create table ${schema}.events (line string) partitioned by (hour int) stored as textfile;
       create table ${schema}.loose (j variant, n int) using json;
       create view ${schema}.recent as select id, price from ${schema}.orders;
       insert into ${schema}.orders values (1, 2, 'a', array(), null, date'2026-11-15', 'a/b=c'),
         (2, 2, 'a', array(), null, date'2026-11-15', null)`,
    );
    expect(await account.get(`/hive/${schema}`)).toEqual(["events", "loose", "orders", "recent"]);
    expect(await account.get(`/hive/${schema}?filter=^[OE]`)).toEqual(["events", "orders"]);
    expect(await account.get(`/hive/${schema}?describe=true&filter=orders|events`)).toEqual([
      {
        events: {
          columns: [
            { name: "line", type: "string" },
            { name: "hour", type: "int" },
          ],
        },
      },
      {
        orders: {
          columns: [
            { name: "id", type: "bigint" },
            { name: "price", type: "decimal(12,2)" },
            { name: "code", type: "varchar(7)" },
            { name: "tags", type: "array<string>" },
            { name: "who", type: "struct<name:string,ids:map<string,int>>" },
            { name: "dt", type: "date" },
            { name: "Region", type: "string" },
          ],
        },
      },
    ]);
    expect(await account.get(`/hive/${schema}/loose`)).toEqual([
      { name: "j", type: "variant", comment: null },
      { name: "n", type: "int", comment: null },
    ]);
    expect(await account.get(`/hive/${schema}/recent`)).toEqual([
      { name: "id", type: "bigint", comment: "key" },
      { name: "price", type: "decimal(12,2)", comment: null },
    ]);
    const properties = await account.get(`/hive/${schema}/orders/table_properties`);
    expect(properties).toMatchObject({
      table_type: "MANAGED_TABLE",
      partition_columns: [
        { name: "dt", type: "date" },
        { name: "region", type: "string" },
      ],
      parameters: { "spark.sql.sources.provider": "parquet" },
    });
    expect(await account.get(`/hive/${schema}/orders/properties`)).toEqual(properties);
    expect(await account.get(`/hive/${schema}/orders/partitions`)).toEqual([
      {
        PART_NAME: "dt=2026-11-15/region=__HIVE_DEFAULT_PARTITION__",
        LOCATION: expect.stringContaining("/Region=__HIVE_DEFAULT_PARTITION__"),
      },
      {
        PART_NAME: "dt=2026-11-15/region=a%2Fb%3Dc",
        LOCATION: expect.stringContaining("/dt=2026-11-15/Region=a%2Fb%3Dc"),
      },
    ]);
  });
});
