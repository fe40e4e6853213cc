/** Query plans show that the cost of the queue's frequent statements depends on waiting and running commands only. */
import { randomUUID } from "node:crypto";
import { Client, escapeLiteral } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isExhaustive } from "../../../test/support/exhaustive.ts";
import { buffersOf, explainedPlan, nodesOf, type PlanNode } from "../../../test/support/explained-plans.ts";
import { cloneDatabase, type TestDatabase } from "../../../test/support/test-database.ts";
import { createAccountWithAdmin } from "../../accounts/create-account-with-admin.ts";
import { addDefaultCluster } from "../../clusters/default-cluster.ts";
import { openDatabase, type Tx } from "../../db/database.ts";
import { listBeats, listNodes, nodeHeartbeat } from "./nodes.ts";
import { listUnpublished } from "./publishing.ts";
import { findEnded, listEndedBefore } from "./outcome.ts";
import {
  readQueueDepth,
  cancel,
  markSpawned,
  noteProgress,
  release,
  settle,
  type Claim,
  type Settlement,
} from "./queue.ts";
import { claim, listAbandoned, listStranded, listCandidates, listHeld, listHeldStates, listLoads } from "./claims.ts";

const ENDED = isExhaustive ? 200_000 : 40_000;
const UNPUBLISHED = isExhaustive ? 50_000 : 10_000;
/** An update writes into every index of the table. */
const FEW_BUFFERS = 80;
/** Each candidate costs one lookup by an index of `command` and possibly one by an index of `cluster`. */
const BUFFERS_PER_CANDIDATE = 6;
/** To find a lane, and to find its first commands. */
const BUFFERS_PER_HOP = 12;

const own = randomUUID();
const silent = randomUUID();
let database: TestDatabase;
let client: Client;
let accountId = 0;
let endedIds: number[] = [];
let waitingIds: number[] = [];
let held: Claim = { id: 0, fence: 1, nodeId: own };

beforeAll(async () => {
  database = await cloneDatabase();
  accountId = await foundAccount(database);
  client = await connect(database);
  await fill();
});

async function foundAccount({ connection }: TestDatabase): Promise<number> {
  const db = openDatabase({ ...connection, max: 1 });
  const founded = await db.asSystem((tx) =>
    createAccountWithAdmin(tx, {
      account: { name: "Plans", parentId: null, plan: "free" },
      admin: { email: "plans@example.test", name: "Founder", isOperator: false },
      features: [],
      addDefaults: addDefaultCluster,
    }),
  );
  await db.close();
  return founded.accountId;
}

async function connect({ connection }: TestDatabase): Promise<Client> {
  const connected = new Client(connection);
  await connected.connect();
  return connected;
}

afterAll(async () => {
  await client.end();
  await database.drop();
});

/** All commands have the same account and cluster, so only their state distinguishes the few from the many. */
async function fill(): Promise<void> {
  await client.query(
    `insert into node (id, host, boot_id, memory_budget_mib, version)
     values ($1, 'own', '', 1000, '1'), ($2, 'silent', '', 1000, '1')`,
    [own, silent],
  );
  // Checking foreign keys would take most of the time, and no plan depends on them.
  for (const column of ["account", "cluster"]) {
    await client.query(`alter table command drop constraint command_${column}_id_fkey`);
  }
  await insertCommands(ENDED, "done", null);
  await insertUnpublished(UNPUBLISHED);
  await insertCommands(20, "waiting", null);
  await insertCommands(10, "running", own);
  await insertCommands(10, "running", silent);
  await client.query("analyze");
  endedIds = await findIds("status = 'done'");
  waitingIds = await findIds("status = 'waiting'");
  const [first = 0] = await findIds(`node_id = '${own}'`);
  held = { id: first, fence: 1, nodeId: own };
}

async function insertCommands(
  count: number,
  status: string,
  nodeId: string | null,
  { lane = "program", memoryMiB = 0 }: { lane?: string; memoryMiB?: number } = {},
  into = { client, accountId },
): Promise<void> {
  await into.client.query(
    `insert into command (account_id, user_id, label, cluster_id, command_type, command, template, request_id, status,
       created_at, start_time, end_time, fence, attempt, node_id, handle, lane, memory_mib)
     select c.account_id, m.user_id, 'default', c.id, 'SparkCommand', '{"language":"python"}', 'generic', 'r', $3,
       now() - n * interval '1 second', now() - n * interval '1 second',
       case when $3 = 'done' then now() - n * interval '1 second' end, 1, 1, $4,
       case when $4::uuid is not null then '{"kind":"runner"}'::jsonb end, $5, $6
     from cluster c join membership m on m.account_id = c.account_id, generate_series(1, $2) n
     where c.account_id = $1`,
    [into.accountId, count, status, nodeId, lane, memoryMiB],
  );
}

/** A few are due. The others are not, because their account's storage has been unreachable for long. */
async function insertUnpublished(count: number): Promise<void> {
  await client.query(
    `insert into command_publishing (command_id, account_id, attempt, node_id, due_at)
     select id, account_id, 1, $2, now() + (row_number() over (order by id) - 20) * interval '1 minute'
     from command order by id limit $1`,
    [count, own],
  );
}

async function findIds(condition: string): Promise<number[]> {
  const { rows } = await client.query<{ id: string }>(
    `select id from command where ${condition} order by id desc limit 20`,
  );
  return rows.map(({ id }) => Number(id));
}

const CANDIDATES = { perLane: 16, perAccount: 256 };
const caps = { perAccount: 1000, perCluster: 1000 };
const facts = { exitCode: 1, cause: "c", outputBytes: 1, logBytes: 1, qlog: null };
const settlement: Settlement = { next: { status: "error" }, ...facts };

const statements: Record<string, (tx: Tx) => Promise<unknown>> = {
  listCandidates: (tx) => listCandidates(tx, CANDIDATES),
  claim: (tx) => claim(tx, own, { id: waitingIds[0] ?? 0, accountId }, 100, caps),
  listLoads: (tx) => listLoads(tx),
  listHeld: (tx) => listHeld(tx, own),
  listHeldStates: (tx) => listHeldStates(tx, own),
  markSpawned: (tx) => markSpawned(tx, held, { kind: "runner" }),
  noteProgress: (tx) => noteProgress(tx, held, { pid: 1, progress: 1 }),
  release: (tx) => release(tx, held),
  settle: (tx) => settle(tx, held, settlement, true),
  cancel: (tx) => cancel(tx, waitingIds[0] ?? 0),
  listAbandoned: (tx) => listAbandoned(tx, [{ id: silent, beat: 0 }]),
  listStranded: (tx) => listStranded(tx, [{ id: silent, beat: 0 }]),
  nodeHeartbeat: (tx) => nodeHeartbeat(tx, own),
  listNodes: (tx) => listNodes(tx),
  listBeats: (tx) => listBeats(tx),
  readQueueDepth: (tx) => readQueueDepth(tx),
  findEnded: (tx) => findEnded(tx, [...waitingIds, ...endedIds]),
  listUnpublished: (tx) => listUnpublished(tx, own, { leaveAlone: [], after: 0, accounts: 4, each: 5 }),
  listEndedBefore: (tx) => listEndedBefore(tx, new Date(), undefined, 100),
};

test.each(Object.keys(statements))("%s reads only waiting and running commands", async (name) => {
  for (const mode of ["force_custom_plan", "force_generic_plan"]) {
    const plans = await explain(mode, statements[name] ?? fail);
    expect(plans, name).toHaveLength(1);
    for (const plan of plans) {
      const scans = nodesOf(plan).filter((node) => node["Node Type"] === "Seq Scan");
      expect(scans.map((node) => node["Relation Name"])).not.toContain("command");
      const candidateBuffers = name === "listCandidates" ? CANDIDATES.perLane * BUFFERS_PER_CANDIDATE : 0;
      expect(buffersOf(plan), `${name} ${mode}`).toBeLessThan(FEW_BUFFERS + candidateBuffers);
    }
  }
});

test("listCandidates reads no more rows of a long queue than of a short one", async () => {
  for (const lane of ["program", "refresh", "sql of app 7"]) await insertCommands(10_000, "waiting", null, { lane });
  await client.query("vacuum analyze command");
  for (const mode of ["force_custom_plan", "force_generic_plan"]) {
    const [plan] = await explain(mode, (tx) => listCandidates(tx, CANDIDATES));
    if (plan === undefined) throw new Error("no plan");
    expect(plan["Actual Rows"], mode).toBe(3 * 16);
    expect(buffersOf(plan), mode).toBeLessThan(FEW_BUFFERS + 3 * CANDIDATES.perLane * BUFFERS_PER_CANDIDATE);
  }
});

test("listCandidates costs as much for many lanes as their first commands cost", async () => {
  const count = 50;
  await insertCommands(count * 100, "waiting", null, { lane: "sizes" });
  await client.query(`update command set lane = 'sizes ' || id % ${count} where lane = 'sizes'`);
  await client.query("vacuum analyze command");
  for (const mode of ["force_custom_plan", "force_generic_plan"]) {
    const [plan] = await explain(mode, (tx) => listCandidates(tx, CANDIDATES));
    if (plan === undefined) throw new Error("no plan");
    const hops = nodesOf(plan).find((node) => node["Subplan Name"] === "CTE busy")?.["Actual Rows"];
    const lanes = count + 3;
    expect(hops, mode).toBe(lanes);
    const maxBuffers = lanes * BUFFERS_PER_HOP + CANDIDATES.perAccount * BUFFERS_PER_CANDIDATE;
    expect(buffersOf(plan), mode).toBeLessThan(FEW_BUFFERS + maxBuffers);
    expect(rowsSkippedBy(plan), mode).toBeLessThan(100);
  }
  await client.query("delete from command where lane like 'sizes %'");
});

test("listCandidates counts the running commands once, however many candidates there are", async () => {
  for (const mode of ["force_custom_plan", "force_generic_plan"]) {
    const [plan] = await explain(mode, (tx) => listCandidates(tx, CANDIDATES));
    if (plan === undefined) throw new Error("no plan");
    const counts = nodesOf(plan).filter((node) => node["Subplan Name"] === "CTE running");
    expect(counts.map((node) => node["Actual Loops"])).toEqual([1]);
  }
});

test("listCandidates reads the texts of a limited number of commands of an account, however many lanes it has", async () => {
  const lanes = Array.from({ length: 300 }, (_, app) => `sql of app ${app}`);
  for (const lane of lanes) await insertCommands(2, "waiting", null, { lane });
  const query: Tx["query"] = async (text, values) => (await client.query(text, [...(values ?? [])])).rows;
  const candidates = await listCandidates({ query }, CANDIDATES);
  expect(candidates).toHaveLength(CANDIDATES.perAccount);
  const { rows } = await client.query("select count(distinct lane)::int as lanes from command where id = any($1)", [
    candidates.map(({ id }) => id),
  ]);
  expect(rows).toEqual([{ lanes: CANDIDATES.perAccount }]);
});

test("listCandidates is fast with a plan from before the first command", async () => {
  const young = await cloneDatabase();
  const into = { client: await connect(young), accountId: await foundAccount(young) };
  try {
    // The first poll prepares the statement, and connections keep its plan until the table is analyzed.
    const query: Tx["query"] = async (text) => (await into.client.query(`prepare poll as ${text}; execute poll`), []);
    await listCandidates({ query }, CANDIDATES);
    await insertCommands(10_000, "done", null, {}, into);
    await insertCommands(20, "waiting", null, {}, into);
    const { rows } = await into.client.query<{ "QUERY PLAN": [{ Plan: PlanNode }] }>(
      "explain (analyze, buffers, format json) execute poll",
    );
    const [plan] = rows.map((row) => row["QUERY PLAN"][0].Plan);
    if (plan === undefined) throw new Error("no plan");
    expect(plan["Actual Rows"]).toBe(CANDIDATES.perLane);
    expect(buffersOf(plan)).toBeLessThan(FEW_BUFFERS + CANDIDATES.perLane * BUFFERS_PER_CANDIDATE);
  } finally {
    await into.client.end();
    await young.drop();
  }
});

function fail(): never {
  throw new Error("no such statement");
}

/** Rows that a scan has read and discarded. */
function rowsSkippedBy(plan: PlanNode): number {
  const scans = nodesOf(plan).filter((node) => node["Relation Name"] === "command");
  const skipped = scans.map((node) => (node["Rows Removed by Filter"] ?? 0) * node["Actual Loops"]);
  return skipped.reduce((sum, rows) => sum + rows, 0);
}

/** Runs each statement with a generic and a custom plan, and rolls it back. */
async function explain(mode: string, work: (tx: Tx) => Promise<unknown>): Promise<PlanNode[]> {
  const plans: PlanNode[] = [];
  const tx: Tx = {
    send: () => undefined,
    async query(text, values = []) {
      const name = `plan_${randomUUID().replaceAll("-", "")}`;
      await client.query(`prepare ${name} as ${text}`);
      const parameters = values.length === 0 ? "" : `(${values.map(literal).join(", ")})`;
      plans.push(await explainedPlan(client, `execute ${name}${parameters}`));
      return [];
    },
  };
  await client.query("begin");
  try {
    await client.query(`set local plan_cache_mode = ${mode}`);
    await work(tx);
  } finally {
    await client.query("rollback");
  }
  return plans;
}

function literal(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return escapeLiteral(`{${value.join(",")}}`);
  if (value instanceof Date) return escapeLiteral(value.toISOString());
  if (typeof value === "boolean") return String(value);
  if (typeof value === "string" || typeof value === "number") return escapeLiteral(String(value));
  throw new Error("no literal for a parameter of this type");
}
