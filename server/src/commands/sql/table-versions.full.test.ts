import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { rowsOf, useSpark } from "../../../test/support/spark.ts";
import { NOTHING_CONTRIBUTED } from "../../engines/spark-home/contribution.ts";
import { TABLE_FORMATS } from "../../engines/table-formats/table-format.ts";
import { withTableFormats } from "../../engines/table-formats/with-table-formats.ts";

const LAKE = { label: "history" };
const MERGE = "when matched then update set name = s.name when not matched then insert *";

describe.skipIf(sparkIsMissing)("tables of Delta Lake and Apache Iceberg", () => {
  const spark = useSpark();

  beforeAll(async () => {
    const formats = { engine: { type: "local" }, table_formats: ["delta", "iceberg"] };
    await spark.account.post("/api/v2/clusters", { labels: ["history"], ...formats });
  });
  afterAll(async () => {
    await spark.account.put("/api/v2/clusters/history/state", { state: "terminate", force: true });
  });

  const rows = (sql: string): Promise<string[]> => rowsOf(spark.account, sql, LAKE);
  /** The time of the version with the first rows; the one before it is the empty table. */
  async function timeOfFirstRows(format: string, table: string): Promise<string> {
    if (format === "iceberg") return (await rows(`select min(committed_at) from ${table}.snapshots`))[0] ?? "";
    const history = await rows(`describe history ${table}`);
    return history.find((row) => row.startsWith("1\t"))?.split("\t")[1] ?? "";
  }
  const columns = async (table: string): Promise<string[]> =>
    (await spark.account.get(`/hive/default/${table}`)).map(
      ({ name, type }: { name: string; type: string }) => `${name} ${type}`,
    );
  const described = async (table: string) =>
    Object.assign({}, ...(await spark.account.get("/hive/default?describe=true")))[table];

  test.each([
    ["delta", "default.delta_versions", "version as of 1"],
    ["iceberg", "iceberg.default.iceberg_versions", "version as of 'first'"],
  ])("of %s can be merged into, read as they were, and get new columns", async (format, table, before) => {
    await rows(
      `create table ${table} (id int, name string) using ${format} partitioned by (id);
       insert into ${table} values (1, 'a'), (2, 'b');
       ${format === "iceberg" ? `alter table ${table} create tag first` : ""}`,
    );
    const changed = await rows(
      `update ${table} set name = 'c' where id = 1;
       merge into ${table} t using (select 2 id, 'd' name union all select 3, 'e') s on t.id = s.id ${MERGE};
       select * from ${table} order by id`,
    );
    expect(changed).toEqual(["1\tc", "2\td", "3\te"]);
    expect(await rows(`select * from ${table} ${before} order by id`)).toEqual(["1\ta", "2\tb"]);
    const time = await timeOfFirstRows(format, table);
    expect(await rows(`select * from ${table} timestamp as of '${time}' order by id`)).toEqual(["1\ta", "2\tb"]);

    // The listing reads the metastore, which knows the columns, but not the partitions.
    const name = table.slice(table.lastIndexOf(".") + 1);
    expect(await columns(name)).toEqual(["id int", "name string"]);
    await rows(`alter table ${table} add columns (price decimal(9,2))`);
    // Delta stores changed columns in the metastore after the statement has ended.
    await expect.poll(() => columns(name)).toEqual(["id int", "name string", "price decimal(9,2)"]);
    expect(await described(name)).toMatchObject({ columns: [{ name: "id" }, { name: "name" }, { name: "price" }] });
  });

  test("the statements that an idle server runs for each format work", async () => {
    const parts = { jars: [], pythonPath: undefined, processors: 2 };
    const { warmUp = [] } = withTableFormats(NOTHING_CONTRIBUTED, TABLE_FORMATS, parts);
    expect(warmUp).toHaveLength(2);
    for (const group of warmUp) expect((await rows(group.join("; "))).at(-1)).toBe("1\ta");
  });
});
