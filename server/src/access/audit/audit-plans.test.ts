import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isExhaustive } from "../../../test/support/exhaustive.ts";
import { buffersOf, explainedPlans, nodesOf, type PlanNode } from "../../../test/support/explained-plans.ts";
import { cloneDatabase, type TestDatabase } from "../../../test/support/test-database.ts";
import { listAuditEvents, type AuditFilter } from "./store.ts";

/** A filtered page reads a few blocks, however many events the account has. */
const EVENTS = isExhaustive ? 100_000 : 20_000;
const MAX_BUFFERS = 120;

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
  // Each of two users has half of the events, with an operation, an object and an outcome that only they have.
  await client.query("insert into account (name) values ('Halves')");
  await client.query(
    `insert into audit_event (account_id, user_id, operation, object, outcome)
     select max(a.id), 1 + n % 2, (array['first', 'second'])[1 + n % 2], (array['hot/1', null])[1 + n % 2],
            (array['done', 'denied'])[1 + n % 2]
       from account a, generate_series(1, $1) n group by n order by n`,
    [EVENTS],
  );
  await client.query("vacuum (analyze) audit_event");
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
  expect(buffersOf(await planOf("Busy", filter))).toBeLessThan(MAX_BUFFERS);
});

test.each<[string, AuditFilter]>([
  ["an operation and a user", { operation: "first", userId: 2 }],
  ["an operation and an outcome", { operation: "first", outcome: "denied" }],
  ["an operation and the other outcome", { operation: "second", outcome: "done" }],
  ["a user and an outcome", { userId: 1, outcome: "denied" }],
  ["an object and an outcome", { object: "hot/1", outcome: "denied" }],
  ["an operation, a user and an outcome", { operation: "first", userId: 1, outcome: "denied" }],
])(
  "a page by %s reads a few blocks, although each filter alone selects half of the events and together none",
  async (_name, filter) => {
    expect(buffersOf(await planOf("Halves", filter))).toBeLessThan(MAX_BUFFERS);
  },
);

test.each<[string, AuditFilter]>([
  ["an operation", { object: "hot/1", operation: "second" }],
  ["a user", { object: "hot/1", userId: 2 }],
])("a page by an object with very many events and %s skips the others inside its index", async (_name, filter) => {
  const nodes = nodesOf(await planOf("Halves", filter));
  const scan = { "Node Type": "Index Only Scan", "Index Name": "audit_event_by_object" };
  expect(nodes).toContainEqual(expect.objectContaining(scan));
});

test("an object that is too long for the index can be stored", async () => {
  await enter("Busy");
  await client.query(
    `insert into audit_event (operation, object, outcome)
     select 'group_user_add', 'group/1/svc_user/' || string_agg((random() * 100000)::integer::text, ','), 'done'
       from generate_series(1, 1000)`,
  );
});

async function enter(account: string): Promise<void> {
  await client.query("reset role");
  await client.query(
    "select set_config('headgate.account_id', (select id::text from account where name = $1), false)",
    [account],
  );
  await client.query("set role headgate_account");
}

async function planOf(account: string, filter: AuditFilter): Promise<PlanNode> {
  await enter(account);
  const page = { beforeId: Number.MAX_SAFE_INTEGER, limit: 11, offset: 0 };
  const [plan] = await explainedPlans(client, (reader) => listAuditEvents(reader, page, filter));
  if (plan === undefined) throw new Error("no statement was sent");
  return plan;
}
