/** Every node runs these statements every few seconds. Their cost must depend only on the clusters that are up. */
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isExhaustive } from "../../../test/support/exhaustive.ts";
import { buffersOf, explainedPlans } from "../../../test/support/explained-plans.ts";
import { cloneDatabase, type TestDatabase } from "../../../test/support/test-database.ts";
import type { Queryable } from "../../db/database.ts";
import { listIdle, listWork } from "./lifecycle.ts";

const CLUSTERS = isExhaustive ? 20_000 : 8000;
const COMMANDS = isExhaustive ? 50_000 : 10_000;
const UP = isExhaustive ? 20 : 5;
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

async function explained(work: (reader: Queryable) => Promise<unknown>): Promise<{ rows: number; buffers: number }> {
  const [plan] = await explainedPlans(client, work);
  if (plan === undefined) throw new Error("no statement was sent");
  return { rows: plan["Actual Rows"], buffers: buffersOf(plan) };
}

test("finding idle clusters reads only those that are up", async () => {
  const { rows, buffers } = await explained((reader) => listIdle(reader, 0, 200));
  expect(rows).toBe(UP);
  expect(buffers).toBeLessThan(UP * BUFFERS_A_CLUSTER);
});

test("finding abandoned work reads only clusters whose state is changing", async () => {
  const { rows, buffers } = await explained((reader) => listWork(reader));
  expect(rows).toBe(0);
  expect(buffers).toBeLessThan(BUFFERS_A_CLUSTER);
});
