import type { Client } from "pg";
import type { BenchHeadgate } from "../headgate.ts";
import { sqlCommand } from "../warm/warm-server.ts";

export const HOURS = 10;

/** A table by day and hour from 2000 on, whose partitions are inserted directly into the metastore's tables. */
export async function seedPartitions(headgate: BenchHeadgate, metastore: Client, count: number): Promise<string> {
  const table = `sensed_${count}`;
  await headgate.run(
    sqlCommand(`create table ${table} (id bigint, dt date, hour int) using parquet partitioned by (dt, hour)`),
  );
  const parts = `(select n, date '2000-01-01' + (n / ${HOURS})::int as day, n % ${HOURS} as hour,
                         (select "TBL_ID" from "TBLS" where "TBL_NAME" = $1) as id
                    from generate_series(0::bigint, $2::bigint - 1) as n) each`;
  // Far above the ids that the metastore assigns meanwhile.
  const { rows } = await metastore.query<{ base: string }>(
    `select 1000000 + coalesce(max("PART_ID"), 0) as base from "PARTITIONS"`,
  );
  const base = Number(rows[0]?.base);
  await metastore.query(
    `insert into "PARTITIONS" ("PART_ID", "CREATE_TIME", "LAST_ACCESS_TIME", "PART_NAME", "TBL_ID")
     select $3 + n, 0, 0, 'dt=' || day || '/hour=' || hour, id from ${parts}`,
    [table, count, base],
  );
  await metastore.query(
    `insert into "PARTITION_KEY_VALS" ("PART_ID", "PART_KEY_VAL", "INTEGER_IDX")
     select $3 + n, day::text, 0 from ${parts} where id is not null union all
     select $3 + n, hour::text, 1 from ${parts}`,
    [table, count, base],
  );
  await metastore.query("analyze");
  return table;
}

/** The values of the partition with that number. */
export function partitionAt(number: number): { dt: string; hour: number } {
  const day = new Date(Date.UTC(2000, 0, 1 + Math.floor(number / HOURS)));
  return { dt: day.toISOString().slice(0, 10), hour: number % HOURS };
}

export function sensorRequest(table: string, partition: Readonly<Record<string, unknown>>): object {
  const columns = Object.entries(partition).map(([column, value]) => ({ column, values: [value] }));
  return { schema: "default", table, columns };
}
