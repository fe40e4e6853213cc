import { randomUUID } from "node:crypto";
import { afterEach, expect, test } from "vitest";
import { useServer, type AccountClient } from "../../../test/support/given.ts";
import { gatedProgram, queuedCommands } from "../../../test/support/queued-commands.ts";
import { silenceClock } from "../../../test/support/silence-clock.ts";
import { stubDriver } from "../../../test/support/stub-driver.ts";
import { listProcesses } from "../../lib/process-table.ts";

const silence = silenceClock();
const given = useServer({
  driver: stubDriver,
  silenceClock: silence.now,
  settings: { HEADGATE_LEASE_SECONDS: "5", HEADGATE_TIMEOUT_CHECK_SECONDS: "1" },
});
const PATIENCE = { timeout: 45_000 };
const { submit, letGo, cancelAll } = queuedCommands(given);
const sql = (text: string, values: unknown[] = []) => given.app.services.db.system.query(text, values);

afterEach(async () => {
  silence.passes = false;
  await sql("update node set state = 'active'");
  await cancelAll();
});

type Samples = Readonly<Record<string, number | undefined>>;

/** By name and labels as they are written. */
async function samples(): Promise<Samples> {
  const text = await (await fetch(`${given.base}/metrics`)).text();
  const lines = text.split("\n").filter((line) => line.startsWith("headgate_"));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))]),
  );
}

const sample = async (name: string): Promise<number> => (await samples())[name] ?? 0;

async function runningByCluster(): Promise<Samples> {
  const running = Object.entries(await samples()).filter(([name]) => name.startsWith("headgate_commands_running"));
  return Object.fromEntries(running.map(([name, value]) => [name.replace(/^.*cluster="(\d+)".*$/, "$1"), value]));
}

async function clusterOf({ accountId }: AccountClient): Promise<number> {
  const [row] = await given.app.services.db.system.query<{ id: number }>(
    "select id from cluster where account_id = $1",
    [accountId],
  );
  return row?.id ?? 0;
}

test("the depth counts waiting commands, the age is that of the oldest due one, and both are current", async () => {
  const [operator, account] = [await given.operator(), await given.account()];
  expect(await samples()).toMatchObject({ headgate_queue_depth: 0, headgate_queue_age_seconds: 0 });
  const retried = await submit(account, "exit 1", { retry: 1, retry_delay: 5 });
  await expect
    .poll(() => account.get(`/commands/${retried}`), PATIENCE)
    .toMatchObject({ waiting_reason: expect.stringMatching(/^next attempt/) });
  expect(await sample("headgate_queue_depth")).toBe(1);
  // The delay of the retry has not passed, so no command is overdue.
  expect(await sample("headgate_queue_age_seconds")).toBe(0);
  const { nodes } = await operator.get("/api/v2/nodes");
  await operator.put(`/api/v2/nodes/${nodes[0].id}`, { state: "paused" });
  const ids = [await submit(account, "true"), await submit(account, "true")];
  await sql("update command set due_at = due_at - interval '100 seconds' where id = $1", [ids[1]]);
  const found = await samples();
  expect(found["headgate_queue_depth"]).toBe(3);
  expect(found["headgate_queue_age_seconds"]).toBeGreaterThanOrEqual(100);
  expect(found["headgate_queue_age_seconds"]).toBeLessThan(130);
  await account.put(`/commands/${retried}`);
  expect(await sample("headgate_queue_depth")).toBe(2);
  await operator.put(`/api/v2/nodes/${nodes[0].id}`, { state: "active" });
  for (const id of ids) await account.get(`/commands/${id}?wait_seconds=45`);
  expect(await samples()).toMatchObject({ headgate_queue_depth: 0, headgate_queue_age_seconds: 0 });
});

test("running commands are counted by cluster", async () => {
  const [one, other] = [await given.account(), await given.account()];
  const ids = [await submit(one, gatedProgram()), await submit(one, gatedProgram())];
  const foreign = await submit(other, gatedProgram());
  const [ofOne, ofOther] = [await clusterOf(one), await clusterOf(other)];
  await expect.poll(runningByCluster, PATIENCE).toEqual({ [ofOne]: 2, [ofOther]: 1 });
  await letGo(other, foreign);
  await letGo(one, ids[0] ?? 0);
  await expect.poll(runningByCluster, PATIENCE).toEqual({ [ofOne]: 1 });
});

test("durations are counted by type and outcome, once for each command, from its first start", async () => {
  const account = await given.account();
  const counted = (type: string, outcome: string, what: string): string =>
    `headgate_command_seconds_${what}{type="${type}",outcome="${outcome}"}`;
  const bucket = (le: string): string =>
    `headgate_command_seconds_bucket{le="${le}",type="SparkCommand",outcome="done"}`;
  const before = await samples();
  const grown = async (name: string): Promise<number> => (await sample(name)) - (before[name] ?? 0);

  const twice = await submit(account, 'sleep 0.6; [ "$ATTEMPT" = 2 ]', { retry: 1, retry_delay: 0 });
  const failing = [await submit(account, "exit 3"), await submit(account, "sleep 60", { timeout: 1 })];
  const cancelled = await submit(account, gatedProgram());
  await expect.poll(() => account.get(`/commands/${cancelled}`), PATIENCE).toMatchObject({ pid: expect.any(Number) });
  await account.put(`/commands/${cancelled}`);
  const { id: refresh } = await account.post("/commands", { template: "s3import", db_name: "d", hive_table: "t" });
  for (const id of [twice, ...failing, cancelled, refresh]) await account.get(`/commands/${id}?wait_seconds=45`);

  expect(await grown(counted("SparkCommand", "done", "count"))).toBe(1);
  expect(await grown(counted("SparkCommand", "error", "count"))).toBe(2);
  expect(await grown(counted("SparkCommand", "cancelled", "count"))).toBe(1);
  expect(await grown(counted("HiveCommand", "error", "count"))).toBe(1);
  const seconds = await grown(counted("SparkCommand", "done", "sum"));
  expect(seconds).toBeGreaterThanOrEqual(1.2);
  expect(seconds).toBeLessThan(30);
  expect([await grown(bucket("1")), await grown(bucket("30"))]).toEqual([0, 1]);
});

test("a run that another node has taken over counts as a rejection, ends, and writes nothing", async () => {
  const account = await given.account();
  const marker = `6${Date.now() % 1_000_000}.5`;
  const id = await submit(account, `sleep ${marker}`);
  await expect.poll(() => account.get(`/commands/${id}`), PATIENCE).toMatchObject({ pid: expect.any(Number) });
  const other = await addNode();
  await sql("update command set node_id = $2, fence = fence + 1, progress = 42, pid = null where id = $1", [id, other]);
  await expect.poll(() => sample("headgate_queue_fence_rejections_total"), PATIENCE).toBe(1);
  const left = async () => (await listProcesses()).filter(({ commandLine }) => commandLine.includes(`sleep ${marker}`));
  await expect.poll(left, PATIENCE).toEqual([]);
  expect(await account.get(`/commands/${id}`)).toMatchObject({ status: "running", progress: 42, pid: null });
  expect(await sample("headgate_queue_lost_heartbeats_total")).toBe(0);

  // The other node falls silent: its run is settled here, and counted as a lost heartbeat.
  const errors = 'headgate_command_seconds_count{type="SparkCommand",outcome="error"}';
  const before = await sample(errors);
  silence.passes = true;
  expect(await account.get(`/commands/${id}?wait_seconds=45`)).toMatchObject({ status: "error" });
  expect(await sample("headgate_queue_lost_heartbeats_total")).toBe(1);
  expect(await sample("headgate_queue_fence_rejections_total")).toBe(1);
  expect(await sample(errors)).toBe(before + 1);
});

test("a lost run with retry goes on, and a request that waits for its end keeps waiting", async () => {
  const account = await given.account();
  const lost = await sample("headgate_queue_lost_heartbeats_total");
  const other = await addNode();
  const { nodes } = await (await given.operator()).get("/api/v2/nodes");
  const own = nodes.find(({ id }: { id: string }) => id !== other).id;
  await (await given.operator()).put(`/api/v2/nodes/${own}`, { state: "paused" });
  const id = await submit(account, gatedProgram(), { retry: 1 });
  const answer = account.get(`/commands/${id}?wait_seconds=45`).reply();
  await sql(
    `update command set status = 'running', node_id = $2, fence = 1, attempt = 1, start_time = now(),
       handle = '{"kind":"runner"}' where id = $1`,
    [id, other],
  );
  silence.passes = true;
  await expect.poll(() => sample("headgate_queue_lost_heartbeats_total"), PATIENCE).toBe(lost + 1);
  await (await given.operator()).put(`/api/v2/nodes/${own}`, { state: "active" });
  await expect.poll(() => account.get(`/commands/${id}`), PATIENCE).toMatchObject({ pid: expect.any(Number) });
  await letGo(account, id);
  expect((await answer).body).toMatchObject({ status: "done" });
  expect(await account.get(`/commands/${id}/attempts`)).toMatchObject({
    attempts: [
      { number: 1, cause: "the node that ran it has fallen silent" },
      { number: 2, cause: null },
    ],
  });
});

async function addNode(): Promise<string> {
  const id = randomUUID();
  await sql(
    `insert into node (id, host, boot_id, memory_budget_mib, version)
     values ($1, 'other', 'boot', 1000, '1')`,
    [id],
  );
  return id;
}
