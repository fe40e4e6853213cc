/**
 * Thousands of partitions for the tables of `sales-tables.ts`, inserted directly into the metastore's tables. They have
 * no storage, so the transaction must be rolled back.
 */
import type { Queryable } from "../../src/db/database.ts";

/** Every day has a region of its own, and one common region. */
export async function seedOrders(tx: Queryable): Promise<void> {
  const days = `generate_series(1, 5000) as day,
    lateral (values (day * 10, 'r' || day), (day * 10 + 1, 'r1')) as each (id, region)`;
  await tx.query(
    `insert into "PARTITIONS" ("PART_ID", "CREATE_TIME", "LAST_ACCESS_TIME", "PART_NAME", "TBL_ID")
     select 1000000 + id, 0, 0, 'day=' || day || '/region=' || region, "TBL_ID"
       from ${days}, "TBLS" where "TBL_NAME" = 'orders' and (id % 10 = 0 or day > 1)`,
  );
  await tx.query(
    `insert into "PARTITION_KEY_VALS" ("PART_ID", "PART_KEY_VAL", "INTEGER_IDX")
     select 1000000 + id, value, ordinal from ${days}, lateral (values (day::text, 0), (region, 1)) as v (value, ordinal)
      where id % 10 = 0 or day > 1`,
  );
  await tx.query(`analyze "PARTITIONS", "PARTITION_KEY_VALS"`);
}

/** One country, 500 days with 24 hours each. */
export async function seedVisits(tx: Queryable): Promise<void> {
  const all = `generate_series(0, 499) as day, generate_series(0, 23) as hour`;
  await tx.query(
    `insert into "PARTITIONS" ("PART_ID", "CREATE_TIME", "LAST_ACCESS_TIME", "PART_NAME", "TBL_ID")
     select 2000000 + day * 24 + hour, 0, 0, 'country=US/day=d' || day || '/hour=' || hour, "TBL_ID"
       from ${all}, "TBLS" where "TBL_NAME" = 'visits'`,
  );
  await tx.query(
    `insert into "PARTITION_KEY_VALS" ("PART_ID", "PART_KEY_VAL", "INTEGER_IDX")
     select 2000000 + day * 24 + hour, value, ordinal
       from ${all}, lateral (values ('US', 0), ('d' || day, 1), (hour::text, 2)) as v (value, ordinal)`,
  );
  await tx.query(`analyze "PARTITIONS", "PARTITION_KEY_VALS"`);
}

/** The number of rows that the transaction has read from the tables and indexes of partitions. */
export async function partitionRowsRead(tx: Queryable): Promise<number> {
  const [row] = await tx.query<{ rows: number }>(
    `select sum(seq_tup_read + idx_tup_fetch)::int as rows from pg_stat_xact_user_tables
      where relname in ('PARTITIONS', 'PARTITION_KEY_VALS')`,
  );
  return row?.rows ?? Number.NaN;
}
