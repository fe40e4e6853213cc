import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cloneDatabase, type TestDatabase } from "../../../test/support/test-database.ts";
import { listIdle, listWork } from "./lifecycle.ts";

/** Every node runs these statements every few seconds. Their cost must depend only on the clusters that are up. */
const CLUSTERS = 20_000;
const COMMANDS = 50_000;
const UP = 20;
const BUFFERS_A_CLUSTER = 12;

let database: TestDatabase;
let client: Client;

beforeAll(async () => {
  database = await cloneDatabase();
  client = new Client(database.connection);
  await client.connect();
  await client.query("insert into account (name) values ('Many')");
  await client.query(
    `insert into cluster (account_id, engine, state, up_since)
     select a.id, '{"type":"local"}', case when n <= $2 then 'UP' else 'DOWN' end, now()
       from account a, generate_series(1, $1) n`,
    [CLUSTERS, UP],
  );
  await client.query(
    `insert into command (account_id, user_id, label, cluster_id, command_type, command, request_id, status, end_time)
     select c.account_id, 1, 'default', c.id, 'SparkCommand', '{}', 'r', 'done', now() - n * interval '1 second'
       from (select * from cluster where state = 'UP') c, generate_series(1, $1::int) n`,
    [COMMANDS / UP],
  );
  await client.query("analyze");
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

interface Explained {
  rows: number;
  buffers: number;
}

/** Runs the statement as it is sent, with EXPLAIN ANALYZE. */
async function explain(
  work: (db: { query: (text: string, values?: readonly unknown[]) => Promise<never[]> }) => unknown,
) {
  const explained: Explained[] = [];
  await work({
    async query(text, values = []) {
      const { rows } = await client.query<{ "QUERY PLAN": [{ Plan: Record<string, number> }] }>(
        `explain (analyze, buffers, format json) ${text}`,
        [...values],
      );
      const plan = rows[0]?.["QUERY PLAN"][0].Plan ?? {};
      const [hit = 0, read = 0] = [plan["Shared Hit Blocks"], plan["Shared Read Blocks"]];
      explained.push({ rows: plan["Actual Rows"] ?? 0, buffers: hit + read });
      return [];
    },
  });
  return explained;
}

test("finding idle clusters reads only those that are up", async () => {
  const [{ rows, buffers } = { rows: 0, buffers: 0 }] = await explain((db) => listIdle(db, 0, 200));
  expect(rows).toBe(UP);
  expect(buffers).toBeLessThan(UP * BUFFERS_A_CLUSTER);
});

test("finding abandoned work reads only clusters whose state is changing", async () => {
  const [{ rows, buffers } = { rows: 1, buffers: 99 }] = await explain((db) => listWork(db));
  expect(rows).toBe(0);
  expect(buffers).toBeLessThan(BUFFERS_A_CLUSTER);
});
