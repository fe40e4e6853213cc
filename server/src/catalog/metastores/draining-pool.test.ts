import { expect, test } from "vitest";
import { cloneDatabase } from "../../../test/support/test-database.ts";
import { DrainingPool } from "./draining-pool.ts";

test("a pool that is ended still answers its waiting queries, and may be ended twice", async () => {
  const database = await cloneDatabase("template1");
  try {
    const pool = new DrainingPool({ ...database.connection, max: 1, connectionTimeoutMillis: 10_000 });
    const answers = [1, 2, 3].map((each) =>
      pool.query<{ each: number }>({ text: "select $1::int as each, pg_sleep(0.05)", values: [each] }),
    );
    const ended = [pool.end(), pool.end()];
    expect((await Promise.all(answers)).map(({ rows }) => rows[0]?.each)).toEqual([1, 2, 3]);
    await Promise.all(ended);
    await pool.end();
    await expect(pool.query({ text: "select 1" })).rejects.toThrow(/after calling end/);
  } finally {
    await database.drop();
  }
});
