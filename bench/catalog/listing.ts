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
 * Lists a schema's tables with their columns over HTTP, alternating with one statement by a bare client. Then shows how
 * the time grows with the number of tables.
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
  const times: [ours: number[], all: number[], parameters: number[]] = [[], [], []];
  for (let round = -WARM_UP; round < ROUNDS; round += 1) {
    const taken = [
      await timed(() => overHttp(headgate, schema, count)),
      await timed(() => bySql(metastore, ALL_ROWS, schema, count)),
      await timed(() => bySql(metastore, PARAMETERS, schema, count)),
    ];
    if (round >= 0) times.forEach((each, way) => each.push(taken[way] ?? 0));
  }
  const [ours = 0, all = 0, parameters = 0] = times.map(median);
  console.log(
    `${count} tables of ${COLUMNS} columns over HTTP: p50 ${ours.toFixed(0)} ms; by a bare client, one statement for ` +
      `columns, partition keys and parameters ${all.toFixed(0)} ms; ratio ${(ours / all).toFixed(2)}`,
  );
  console.log(
    `… one for Spark's parameters alone, as text ${parameters.toFixed(0)} ms; ratio ${(ours / parameters).toFixed(2)}`,
  );
  return ours;
}

async function overHttp({ call }: BenchHeadgate, schema: string, count: number): Promise<void> {
  const tables = await call<Record<string, { columns: object[] }>[]>("GET", `/hive/${schema}?describe=true`);
  const sizes = new Set(tables.flatMap((table) => Object.values(table).map(({ columns }) => columns.length)));
  if (tables.length !== count || sizes.size !== 1 || !sizes.has(COLUMNS))
    throw new Error("tables or columns are missing in the list");
}

async function bySql(metastore: Client, statement: string, schema: string, count: number): Promise<void> {
  const { rows } = await metastore.query<{ name: string }>(statement, [schema]);
  if (new Set(rows.map(({ name }) => name)).size !== count) throw new Error("tables are missing in the result");
}

/** The minimum for the columns of tables made by Spark; the result still has to be parsed. */
const PARAMETERS = `
  select t."TBL_NAME" as name, p."PARAM_KEY" as key, p."PARAM_VALUE" as value, null as comment
    from "DBS" d join "TBLS" t using ("DB_ID") join "TABLE_PARAMS" p using ("TBL_ID")
   where d."NAME" = $1 and p."PARAM_KEY" like 'spark.sql.sources.schema%'
     and p."PARAM_KEY" not like 'spark.sql.sources.schema.partCol%'
   order by name`;

/** Everything needed for the columns of any table, whether made by Spark or Hive. */
const ALL_ROWS = `
  select t."TBL_NAME" as name, c."COLUMN_NAME" as key, c."TYPE_NAME" as value, c."COMMENT" as comment
    from "DBS" d join "TBLS" t using ("DB_ID") join "SDS" s using ("SD_ID") join "COLUMNS_V2" c using ("CD_ID")
   where d."NAME" = $1
  union all
  select t."TBL_NAME", k."PKEY_NAME", k."PKEY_TYPE", k."PKEY_COMMENT"
    from "DBS" d join "TBLS" t using ("DB_ID") join "PARTITION_KEYS" k using ("TBL_ID")
   where d."NAME" = $1
  union all (${PARAMETERS})
  order by name`;
