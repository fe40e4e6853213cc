/** Several nodes on one database, each with its own lifecycle. The tests call what the periodic task would. */
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { cloneDatabase, type TestDatabase } from "../../test/support/test-database.ts";
import { openDatabase, type Database } from "../db/database.ts";
import { systemClock } from "../lib/clock.ts";
import { KeyRing, newKey } from "../lib/key-ring.ts";
import type { ClusterControl } from "./control.ts";
import { addDefaultCluster } from "./default-cluster.ts";
import { ClusterLifecycle } from "./lifecycle.ts";

let database: TestDatabase;
let db: Database;
let accountId: number;
let id: number;
let nodes: Node[];
/** The monotonic clock of all nodes. */
let observerMs = 0;

beforeAll(async () => {
  database = await cloneDatabase();
  db = openDatabase(database.connection);
});
afterAll(async () => {
  await db.close();
  await database.drop();
});

interface Node {
  lifecycle: ClusterLifecycle;
  calls: string[];
  settled: number[];
}

/** Never completes, like a node that hangs or is about to be killed. */
const endless: ClusterControl["start"] = (_cluster, signal) =>
  new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("cancelled"))));
const atOnce: ClusterControl["start"] = () => Promise.resolve();

function node(behaviour: Partial<ClusterControl> = {}): Node {
  const calls: string[] = [];
  const settled: number[] = [];
  const keys = new KeyRing([newKey([])], () => []);
  const { start = atOnce, terminate = atOnce } = behaviour;
  const lifecycle = new ClusterLifecycle({
    db,
    keys,
    clock: systemClock,
    now: () => observerMs,
    log: pino({ level: "silent" }),
    onSettled: (cluster) => void settled.push(cluster),
    control: {
      start: (cluster, signal) => (calls.push("start"), start(cluster, signal)),
      terminate: (cluster, signal) => (calls.push("terminate"), terminate(cluster, signal)),
    },
  });
  const made = { lifecycle, calls, settled };
  nodes.push(made);
  return made;
}

beforeEach(async () => {
  nodes = [];
  const [account] = await db.system.query<{ id: number }>("insert into account (name) values ('A') returning id");
  accountId = account?.id ?? 0;
  await db.asSystem((tx) => addDefaultCluster(tx, accountId));
  const [cluster] = await db.system.query<{ id: number }>("select id from cluster where account_id = $1", [accountId]);
  id = cluster?.id ?? 0;
});
afterEach(async () => {
  await Promise.all(nodes.map(({ lifecycle }) => lifecycle.stop()));
  await db.system.query("delete from account where id = $1", [accountId]);
});

async function state(): Promise<string | undefined> {
  const [row] = await db.system.query<{ state: string }>("select state from cluster where id = $1", [id]);
  return row?.state;
}

async function stateBecomes(expected: string): Promise<void> {
  await expect.poll(state).toBe(expected);
}

async function set(assignments: string): Promise<void> {
  await db.system.query(`update cluster set ${assignments} where id = $1`, [id]);
}

test("only one of many nodes starts a cluster that all need at once", async () => {
  const all = Array.from({ length: 5 }, () => node());
  const states = await Promise.all(all.map(({ lifecycle }) => lifecycle.use([id])));
  expect(states.every((each) => each.get(id)?.state === "PENDING" || each.get(id)?.state === "UP")).toBe(true);
  await stateBecomes("UP");
  expect(all.flatMap(({ calls }) => calls)).toEqual(["start"]);
  expect(all.flatMap(({ settled }) => settled)).toEqual([id]);
});

test("a node does not take over work while another node is alive", async () => {
  const [busy, other] = [node({ start: endless }), node()];
  await busy.lifecycle.use([id]);
  await expect.poll(() => busy.calls).toHaveLength(1);
  await other.lifecycle.reconcile();
  expect(other.calls).toEqual([]);
});

/** Lets the observers see no new beat of the working node for that many seconds. */
async function observe(seconds: number, ...observers: Node[]): Promise<void> {
  for (let second = 0; second <= seconds; second += 10) {
    for (const { lifecycle } of observers) await lifecycle.reconcile();
    observerMs += 10_000;
  }
}

test("the work of a node that stops is taken over at once, of one that dies after 30 seconds", async () => {
  const [stopping, dying, heir] = [node({ start: endless }), node({ start: endless }), node()];
  await stopping.lifecycle.use([id]);
  await expect.poll(() => stopping.calls).toHaveLength(1);
  await stopping.lifecycle.stop();
  await dying.lifecycle.reconcile();
  await expect.poll(() => dying.calls).toHaveLength(1);
  await observe(20, heir);
  expect(heir.calls).toEqual([]);
  await observe(0, heir);
  await stateBecomes("UP");
  expect(heir.calls).toEqual(["start"]);
});

test("a start that completes after another node has taken over changes nothing", async () => {
  const late = Promise.withResolvers<void>();
  const [slow, other] = [node({ start: () => late.promise }), node()];
  await slow.lifecycle.use([id]);
  await expect.poll(() => slow.calls).toHaveLength(1);
  await set("state = 'TERMINATING', worked_until = null, state_fence = state_fence + 1");
  await other.lifecycle.reconcile();
  await stateBecomes("DOWN");
  late.resolve();
  await slow.lifecycle.stop();
  await stateBecomes("DOWN");
});

test("an unfinished state change is completed after a restart", async () => {
  for (const [left, end, call] of [
    ["PENDING", "UP", "start"],
    ["TERMINATING", "DOWN", "terminate"],
  ] as const) {
    await set(`state = '${left}', worked_until = null`);
    const fresh = node();
    await fresh.lifecycle.reconcile();
    await stateBecomes(end);
    expect(fresh.calls).toEqual([call]);
  }
});

test("a failed termination is retried", async () => {
  const failing = node({ terminate: () => Promise.reject(new Error("a JVM does not go")) });
  await set("state = 'TERMINATING', worked_until = null");
  await failing.lifecycle.reconcile();
  await expect.poll(() => failing.calls).toHaveLength(1);
  await failing.lifecycle.stop();
  await stateBecomes("TERMINATING");
  await observe(30, node());
  await stateBecomes("DOWN");
});

test("only one of many nodes ends an idle cluster", async () => {
  await set("state = 'UP', up_since = now() - interval '3 hours'");
  const all = Array.from({ length: 5 }, () => node());
  await Promise.all(all.map(({ lifecycle }) => lifecycle.reconcile()));
  await stateBecomes("DOWN");
  expect(all.flatMap(({ calls }) => calls)).toEqual(["terminate"]);
});
