import type { Pool } from "pg";
import type { Queryable } from "../../src/db/database.ts";

/** What the work writes is seen by it alone, and gone behind it. */
export async function rolledBack(pool: Pool, work: (tx: Queryable) => Promise<void>): Promise<void> {
  const connection = await pool.connect();
  try {
    await connection.query("begin");
    await work({ query: async (text, values = []) => (await connection.query(text, [...values])).rows });
  } finally {
    await connection.query("rollback");
    connection.release();
  }
}
