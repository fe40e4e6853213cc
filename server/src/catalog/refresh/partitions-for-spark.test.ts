import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { Client, Pool } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SET_UP_MS } from "../../../test/support/connect-server.ts";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { metastoreEntry } from "../../../test/support/java-process.ts";
import {
  addedRows,
  metastoreFlaws,
  metastoreRows,
  NO_FLAWS,
  type MetastoreRows,
} from "../../../test/support/metastore-rows.ts";
import { asExternal } from "../../../test/support/partitioned-tables.ts";
import { runSql, useSpark } from "../../../test/support/spark.ts";
import { NO_VALUES, VALUES } from "../../../test/support/values-of-types.ts";
import type { Queryable } from "../../db/database.ts";
import { queryableOf } from "../../db/queryable-of.ts";
import { HiveClient } from "../../engines/hive-thrift/hive-client.ts";
import { Secret } from "../../lib/secret.ts";
import { OwnTables } from "../tables/own-tables.ts";
import type { CatalogTable } from "../tables/table-catalog.ts";
import { ExternalPartitions } from "./external-partitions.ts";
import { OwnPartitions } from "./own-partitions.ts";

const never = new AbortController().signal;

describe.skipIf(sparkIsMissing)("partitions that were added without Spark", () => {
  const spark = useSpark();
  const schema = `p_${randomBytes(4).toString("hex")}`;
  let pool: Pool;
  let reader: Queryable;
  let client: HiveClient;

  beforeAll(async () => {
    const { account, connection, accountId, dataDir } = spark;
    await runSql(account, `create schema ${schema}`);
    pool = new Pool({ ...connection, database: `${connection.database}_metastore_${accountId}`, max: 2 });
    reader = queryableOf(pool);
    const { port, secret } = await metastoreEntry(dataDir, accountId);
    const known = { user: "us", secret: new Secret(secret) };
    client = new HiveClient({ host: "127.0.0.1", port, ...known, checkAddress: () => null });
  }, SET_UP_MS);

  afterAll(async () => {
    client?.close();
    await pool?.end();
  });

  const connect = async (): Promise<Client> => {
    const { connection, accountId } = spark;
    const own = new Client({ ...connection, database: `${connection.database}_metastore_${accountId}` });
    await own.connect();
    return own;
  };
  const storage = (): string => join(spark.dataDir, "accounts", String(spark.accountId), "storage");

  const kinds: [string, () => string][] = [
    ["hive_text", () => "(id int) partitioned by (day date, city string) stored as textfile"],
    ["own_parquet", () => "(id int, day date, city string) using parquet partitioned by (day, city)"],
    [
      "far_csv",
      () => `(id int, day date, city string) using csv options (sep ';') partitioned by (day, city)
             location '${storage()}/${schema}_csv'`,
    ],
  ];

  test.each(kinds)("have the same rows as Spark's, and Spark reads them at once (%s)", async (name, columns) => {
    const { account } = spark;
    await runSql(
      account,
      `create table ${schema}.${name} ${columns()};
       insert into ${schema}.${name} partition (day = date'2026-11-15', city = 'a/b') values (1);
       insert into ${schema}.${name} partition (day = date'2026-11-16', city = 'a/b') values (2)`,
    );
    const table = await described(name);
    const byHand = (day: string) => `alter table ${schema}.${name} add partition (day = date'${day}', city = 'x y:z')`;
    const before = await metastoreRows(pool);
    await runSql(account, byHand("2026-01-01"));
    const between = await metastoreRows(pool);
    const location = `${table.location}/day=2026-01-02/city=x y%3Az`;
    const own = new OwnPartitions({ reader, connect }, table);
    await own.add([{ values: ["2026-01-02", "x y:z"], location }], never);
    const ours = rowsOfDay(between, await metastoreRows(pool), "2026-01-02");
    expect(ours.length).toBeGreaterThan(5);
    expect(ours).toEqual(rowsOfDay(before, between, "2026-01-01"));

    // Two more partitions that share the folders of the first two.
    const more = (city: string, of: string) => ({
      values: [of, city],
      location: `${table.location}/day=${of}/city=a%2Fb`,
    });
    await own.add([more("by sql", "2026-11-15")], never);
    await new ExternalPartitions(client, asExternal(table)).add([more("by thrift", "2026-11-16")], never);
    const { id } = await runSql(account, `select city, id from ${schema}.${name} where city like 'by%' order by city`);
    await own.close();
    expect((await account.get(`/commands/${id}/results`)).results).toBe("by sql\t1\r\nby thrift\t2\r\n");
    expect(await metastoreFlaws(pool)).toEqual(NO_FLAWS);
  });

  test("have values that Spark reads, and no others", async () => {
    // The value comes from a column: as a literal, `today` would be a date.
    const read = ([type, text]: readonly [string, string]): string => {
      const hex = Buffer.from(text).toString("hex");
      return `if(try_cast(decode(unhex(left('${hex}', ${hex.length} + id)), 'UTF-8') as ${type}) is null, 'n', 'y')`;
    };
    const readable = async (values: readonly [string, string][]): Promise<string[]> => {
      const { id } = await runSql(spark.account, `select concat(${values.map(read).join(", ")}) from range(1)`);
      return [...(await spark.account.get(`/commands/${id}/results`)).results.trim()];
    };
    const [yes, no] = [await readable(VALUES), await readable(NO_VALUES)];
    expect(VALUES.filter((_, index) => yes[index] !== "y")).toEqual([]);
    // Spark reads it as a time of the current day, which would be another value each day.
    expect(NO_VALUES.filter((_, index) => no[index] !== "n")).toEqual([["timestamp", "10:00:00"]]);
  });

  /** Other tests write to the same metastore meanwhile, so only rows of that day's partition count. */
  function rowsOfDay(before: MetastoreRows, after: MetastoreRows, day: string): string[] {
    return addedRows(before, after, day).filter((row) => row.includes('"of day=T/city=x y%3Az"'));
  }

  async function described(name: string): Promise<CatalogTable> {
    const table = await new OwnTables(reader).table(schema, name);
    if (table === undefined) throw new Error("the table does not exist");
    return table;
  }
});
