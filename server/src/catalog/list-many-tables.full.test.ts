import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { connectMetastore } from "../../test/support/account-metastore.ts";
import { cloneTable } from "../../test/support/clone-tables.ts";
import { sparkIsMissing } from "../../test/support/spark-missing.ts";
import { runSql, useSpark } from "../../test/support/spark.ts";

const TABLES = 10_000;
const spark = useSpark();

it.skipIf(sparkIsMissing)("10,000 tables are listed in one reply, in order, each with its columns", async () => {
  const { account } = spark;
  const schema = `many_${randomBytes(4).toString("hex")}`;
  await runSql(account, `create schema ${schema}; create table ${schema}.t (a bigint, b string, c date) using parquet`);
  const metastore = await connectMetastore(spark);
  try {
    await cloneTable(metastore, { schema, table: "t", count: TABLES - 1 });
    const names: string[] = await account.get(`/hive/${schema}`);
    expect(names).toHaveLength(TABLES);
    const described: Record<string, unknown>[] = await account.get(`/hive/${schema}?describe=true`);
    expect(described.flatMap((table) => Object.keys(table))).toEqual(names);
    const columns = { columns: ["a bigint", "b string", "c date"].map((column) => columnOf(column)) };
    expect(new Set(described.flatMap((table) => Object.values(table).map((value) => JSON.stringify(value))))).toEqual(
      new Set([JSON.stringify(columns)]),
    );
    expect(await account.get(`/hive/${schema}?filter=^t_99[0-9]$`)).toHaveLength(10);
  } finally {
    await metastore.end();
  }
});

function columnOf(column: string): { name: string; type: string } {
  const [name = "", type = ""] = column.split(" ");
  return { name, type };
}
