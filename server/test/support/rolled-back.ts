import type { Pool } from "pg";
import type { Queryable } from "../../src/db/database.ts";
import { queryableOf } from "../../src/db/queryable-of.ts";

/** Runs the work in a transaction that is rolled back at the end. */
export async function rolledBack(pool: Pool, work: (tx: Queryable) => Promise<void>): Promise<void> {
  const connection = await pool.connect();
  try {
    await connection.query("begin");
    await work(queryableOf(connection));
  } finally {
    await connection.query("rollback");
    connection.release();
  }
}
