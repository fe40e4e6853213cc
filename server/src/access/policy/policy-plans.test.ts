/** The work for a caller grows with the policies that name them, not with all rules of the account. */
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isExhaustive } from "../../../test/support/exhaustive.ts";
import { buffersOf, explainedPlans, nodesOf, type PlanNode } from "../../../test/support/explained-plans.ts";
import { cloneDatabase, type TestDatabase } from "../../../test/support/test-database.ts";
import { listClusters } from "../../clusters/store/cluster.ts";
import type { Queryable } from "../../db/database.ts";
import { listRows } from "../../notebooks/store/list-readable.ts";
import { mayReadSomething } from "./store.ts";

const CLUSTERS = 100;
const RULES_OF_EACH = isExhaustive ? 1000 : 300;
const MAX_BUFFERS = 150;
const CALLER = { membershipId: 7_000_001, groupIds: [7_000_002, 7_000_003] };

let database: TestDatabase;
let client: Client;
let accountId: number;

beforeAll(async () => {
  database = await cloneDatabase();
  client = new Client(database.connection);
  await client.connect();
  const { rows } = await client.query<{ id: string }>("insert into account (name) values ('Busy') returning id");
  accountId = Number(rows[0]?.id);
  await client.query(
    `insert into cluster (account_id, engine) select $1, '{"type":"local"}' from generate_series(1, $2::integer)`,
    [accountId, CLUSTERS],
  );
  await client.query(
    `insert into object_policy (account_id, source_type, source_id, elements)
     select account_id, 'cluster', id, '[]' from cluster where account_id = $1`,
    [accountId],
  );
  await client.query(
    `insert into policy_rule (account_id, source_type, source_id, kind, subject_id, action, weight)
     select account_id, 'cluster', id, 1 + n % 2, n, 'read', 4 from cluster, generate_series(1, $2::integer) n
      where account_id = $1`,
    [accountId, RULES_OF_EACH],
  );
  await client.query("vacuum (analyze) policy_rule");
  await client.query("select set_config('headgate.account_id', $1, false)", [String(accountId)]);
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

async function planOf(work: (reader: Queryable) => Promise<unknown>): Promise<PlanNode> {
  const [plan, ...others] = await explainedPlans(client, work);
  if (plan === undefined || others.length > 0) throw new Error("the work must be one statement");
  return plan;
}

async function buffersFor(work: (reader: Queryable) => Promise<unknown>): Promise<number> {
  return buffersOf(await planOf(work));
}

test("checking whether a list shows anything reads few rules", async () => {
  const source = { type: "cluster", sources: ["cluster"] } as const;
  expect(await buffersFor((reader) => mayReadSomething(reader, accountId, source, CALLER))).toBeLessThan(MAX_BUFFERS);
});

test("a list of clusters reads few rules, although none of them is shown", async () => {
  const scope = { ...CALLER, byPermission: false, isFiltered: true };
  await client.query("set role headgate_account");
  const buffers = await buffersFor((reader) => listClusters(reader, { limit: 11, offset: 0, idsAfter: 0 }, scope));
  await client.query("reset role");
  expect(buffers).toBeLessThan(MAX_BUFFERS);
});

test("a list of notebooks does not read those in hidden folders", async () => {
  await client.query(
    `with hidden as (
       insert into folder (account_id, type, name) select $1, 'notes', 'f' || n from generate_series(1, 50) n returning id),
     policy as (
       insert into object_policy (account_id, source_type, source_id, elements)
       select $1, 'folder', id, '[]' from hidden returning source_id)
     insert into note (account_id, name, note_type, folder_id)
     select $1, 'n' || n, 'spark', source_id from policy, generate_series(1, 100) n`,
    [accountId],
  );
  await client.query(
    `insert into policy_rule (account_id, source_type, source_id, kind, subject_id, action, weight)
     select account_id, 'folder', id, 0, 0, 'all', 1 from folder where account_id = $1`,
    [accountId],
  );
  await client.query(
    `with shown as (insert into folder (account_id, type, name) values ($1, 'notes', 'shown') returning id)
     insert into note (account_id, name, note_type, folder_id)
     select $1, 'n' || n, 'spark', shown.id from shown, generate_series(1, 100) n`,
    [accountId],
  );
  await client.query("vacuum (analyze) folder, note, policy_rule");
  await client.query("set role headgate_account");
  const list = { table: "note", tree: "notes", columns: "o.id" } as const;
  const scope = { ...CALLER, byPermission: true, isFiltered: true };
  const plan = await planOf((reader) => listRows(reader, list, scope, { limit: 11, offset: 0 }));
  await client.query("reset role");
  const scans = nodesOf(plan).filter((node) => node["Relation Name"] === "note");
  const read = scans.map(
    (node) => (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0)) * node["Actual Loops"],
  );
  expect(plan["Actual Rows"]).toBe(11);
  expect(read.reduce((sum, each) => sum + each, 0)).toBeLessThan(50);
});
