import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cloneDatabase, type TestDatabase } from "../../../test/support/test-database.ts";
import { listAuditEvents, type AuditFilter } from "./store.ts";

/** A filtered page reads a few blocks, however many events the account has. */
const EVENTS = 100_000;
const MOST_BUFFERS = 120;

let database: TestDatabase;
let client: Client;

beforeAll(async () => {
  database = await cloneDatabase();
  client = new Client(database.connection);
  await client.connect();
  await client.query("insert into account (name) values ('Busy')");
  await client.query(
    `insert into audit_event (account_id, at, user_id, operation, object, outcome)
     select a.id, '2026-01-01'::timestamptz + n * interval '1 minute', n % 50,
            case when n % 1000 = 0 then 'rare' else 'often' end, 'thing/' || n % 5000,
            case when n % 500 = 0 then 'denied' else 'done' end
       from account a, generate_series(1, $1) n`,
    [EVENTS],
  );
  await client.query("analyze");
  await client.query("select set_config('headgate.account_id', (select max(id)::text from account), false)");
  await client.query("set role headgate_account");
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

const period = { from: new Date("2026-02-01"), until: new Date("2026-02-03") };

test.each<[string, AuditFilter]>([
  ["no filter", {}],
  ["an operation", { operation: "rare" }],
  ["an operation that never happened", { operation: "never" }],
  ["an object", { object: "thing/7" }],
  ["a user", { userId: 3 }],
  ["an outcome", { outcome: "denied" }],
  ["a period", period],
  ["a period and an operation", { ...period, operation: "rare" }],
  ["a period and a user", { ...period, userId: 3 }],
])("a page by %s reads a few blocks", async (_name, filter) => {
  let buffers = Infinity;
  const reader = {
    async query(text: string, values: readonly unknown[] = []): Promise<never[]> {
      const { rows } = await client.query<{ "QUERY PLAN": [{ Plan: Record<string, number> }] }>(
        `explain (analyze, buffers, format json) ${text}`,
        [...values],
      );
      const plan = rows[0]?.["QUERY PLAN"][0].Plan ?? {};
      buffers = (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0);
      return [];
    },
  };
  await listAuditEvents(reader, { beforeId: Number.MAX_SAFE_INTEGER, limit: 11, offset: 0 }, filter);
  expect(buffers).toBeLessThan(MOST_BUFFERS);
});
