import type { Client } from "pg";
import { cloneTable } from "../../server/test/support/clone-tables.ts";
import type { BenchHeadgate } from "../headgate.ts";
import { median, timed } from "../measure.ts";
import { sqlCommand } from "../warm/warm-server.ts";
import { openMetastore } from "./metastore.ts";

const COUNTS = [1_000, 10_000];
const COLUMNS = 20;
const ROUNDS = 11;
const WARM_UP = 3;

/**
 * A schema's tables with their columns over HTTP, against one statement for the same rows by a bare client, in turns; then
 * how the time grows with the tables.
 */
export async function benchListing(headgate: BenchHeadgate): Promise<void> {
  const metastore = await openMetastore(headgate);
  try {
    const times: number[] = [];
    for (const count of COUNTS) times.push(await compare(headgate, metastore, count));
    const [few = 0, many = 0] = times;
    console.log(`… ten times the tables: ${(many / few).toFixed(1)} times as long`);
  } finally {
    await metastore.end();
  }
}

async function compare(headgate: BenchHeadgate, metastore: Client, count: number): Promise<number> {
  const schema = `listed_${count}`;
  const columns = Array.from({ length: COLUMNS }, (_, n) => `column_${n} ${["bigint", "string", "date"][n % 3]}`);
  await headgate.run(
    sqlCommand(
      `create schema ${schema}; create table ${schema}.t (${columns.join(", ")}) using parquet partitioned by (column_19)`,
    ),
  );
  await cloneTable(metastore, { schema, table: "t", count: count - 1 });
  const times: [ours: number[], raw: number[]] = [[], []];
  for (let round = -WARM_UP; round < ROUNDS; round += 1) {
    const ours = await timed(() => overHttp(headgate, schema, count));
    const raw = await timed(() => bySql(metastore, schema, count));
    if (round < 0) continue;
    times[0].push(ours);
    times[1].push(raw);
  }
  const [ours, raw] = times.map(median);
  console.log(
    `${count} tables of ${COLUMNS} columns over HTTP: p50 ${ours?.toFixed(0)} ms; ` +
      `one statement by a bare client ${raw?.toFixed(0)} ms; ratio ${((ours ?? 0) / (raw ?? 0)).toFixed(2)}`,
  );
  return ours ?? 0;
}

async function overHttp({ call }: BenchHeadgate, schema: string, count: number): Promise<void> {
  const tables = await call<Record<string, { columns: object[] }>[]>("GET", `/hive/${schema}?describe=true`);
  const sizes = new Set(tables.flatMap((table) => Object.values(table).map(({ columns }) => columns.length)));
  if (tables.length !== count || sizes.size !== 1 || !sizes.has(COLUMNS)) throw new Error("not all of them came");
}

/** The rows that the listing needs of tables made by Spark, and no others: the parameters that hold their columns. */
async function bySql(metastore: Client, schema: string, count: number): Promise<void> {
  const { rows } = await metastore.query<{ name: string }>(
    `select t."TBL_NAME" as name, p."PARAM_KEY" as key, p."PARAM_VALUE" as value
       from "DBS" d join "TBLS" t using ("DB_ID") join "TABLE_PARAMS" p using ("TBL_ID")
      where d."NAME" = $1 and p."PARAM_KEY" like 'spark.sql.sources.schema%'
        and p."PARAM_KEY" not like 'spark.sql.sources.schema.partCol%'
      order by name`,
    [schema],
  );
  if (new Set(rows.map(({ name }) => name)).size !== count) throw new Error("not all of them came");
}
