/** These refreshes do not end, because their metastore never answers. No Spark is set up here. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { useServer, type AccountClient } from "../../../test/support/given.ts";
import { silenceClock } from "../../../test/support/silence-clock.ts";
import { startThriftServer, type ThriftServer } from "../../../test/thrift/thrift-server.ts";

const MINUTES = 60_000;
let ahead = 0;
const silence = silenceClock();
const given = useServer({
  clock: { now: () => new Date(Date.now() + ahead) },
  silenceClock: silence.now,
  settings: { HEADGATE_LEASE_SECONDS: "5" },
});
const PATIENCE = { timeout: 45_000 };
let metastore: ThriftServer;
let account: AccountClient;

beforeAll(async () => {
  metastore = await startThriftServer(() => undefined);
});
afterAll(() => metastore.stop());
beforeEach(async () => {
  ahead = 0;
  account = await given.account();
  await account.put("/api/v2/accounts", { account: { metastore_uri: `thrift://127.0.0.1:${metastore.port}` } });
});

const status = async (id: number): Promise<string> => (await account.get(`/commands/${id}`)).status;
const cluster = async (): Promise<string> => (await account.get("/api/v2/clusters/default/state")).state;
const put = (body: object) => account.put("/api/v2/clusters/default/state", body);

async function submit(): Promise<number> {
  const { id } = await account.post("/commands", { template: "s3import", db_name: "default", hive_table: "orders" });
  return id;
}

async function running(): Promise<number> {
  const before = metastore.calls.length;
  const id = await submit();
  await expect.poll(() => metastore.calls.length, PATIENCE).toBeGreaterThan(before);
  expect(await status(id)).toBe("running");
  return id;
}

/** Pauses the node: nothing more is claimed until the end of the test. */
async function pause(): Promise<void> {
  const operator = await given.operator();
  const { nodes } = await operator.get("/api/v2/nodes");
  const path = `/api/v2/nodes/${nodes[0].id}`;
  await operator.put(path, { state: "paused" });
  onTestFinished(async () => void (await operator.put(path, { state: "active" })));
}

async function kill(id: number): Promise<void> {
  await account.put(`/commands/${id}`, { status: "kill" });
  const endedStatus = (): Promise<string> => {
    metastore.cutAll();
    return status(id);
  };
  await expect.poll(endedStatus, PATIENCE).toBe("cancelled");
}

describe("a refresh on a cluster", () => {
  beforeEach(async () => {
    await put({ state: "start" });
    await expect.poll(cluster, PATIENCE).toBe("UP");
  });

  test("continues when the cluster is terminated, which needs no force and does not wait for it", async () => {
    const id = await running();
    await put({ state: "terminate" });
    await expect.poll(cluster, PATIENCE).toBe("DOWN");
    expect(await status(id)).toBe("running");
    await kill(id);
  });

  test("continues when the cluster is terminated by force", async () => {
    const id = await running();
    await put({ state: "terminate", force: true });
    await expect.poll(cluster, PATIENCE).toBe("DOWN");
    expect(await status(id)).toBe("running");
    await kill(id);
  });

  test("keeps waiting for its next node when the cluster is terminated by force", async () => {
    const id = await running();
    await pause();
    await given.app.services.db.system.query(
      "update command set node_id = null, handle = null, fence = fence + 1 where id = $1",
      [id],
    );
    await put({ state: "terminate", force: true });
    await expect.poll(cluster, PATIENCE).toBe("DOWN");
    expect(await status(id)).toBe("running");
    await kill(id);
  });

  test("does not count as use of the cluster, which terminates when idle", async () => {
    await account.put("/api/v2/clusters/default", { idle_cluster_timeout: 0 });
    await kill(await running());
    const id = await running();
    ahead = 61 * MINUTES;
    await given.app.services.clusterLifecycle.reconcile();
    await expect.poll(cluster, PATIENCE).toBe("DOWN");
    expect(await status(id)).toBe("running");
    await kill(id);
  });
});

describe("a refresh whose node has fallen silent", () => {
  /** Makes the rows say that another node runs it; this node has not polled them yet. */
  async function lost(state: "running" | "cancelling", before?: () => Promise<void>) {
    const { system } = given.app.services.db;
    const silent = randomUUID();
    await system.query(
      `insert into node (id, host, boot_id, memory_budget_mib, version)
       values ($1, 'other', 'boot', 1000, '1')`,
      [silent],
    );
    const id = await running();
    await before?.();
    await system.query(
      `with taken as (
         update command set status = $3, node_id = $2, fence = fence + 1 where id = $1 returning id, attempt)
       update command_attempt set node_id = $2 from taken where command_id = taken.id and number = taken.attempt`,
      [id, silent, state],
    );
    metastore.cutAll();
    silence.passes = true;
    onTestFinished(() => void (silence.passes = false));
    return id;
  }

  async function row(id: number) {
    const [found] = await given.app.services.db.system.query<{ attempt: number; nodeId: string | null }>(
      `select attempt, node_id as "nodeId" from command where id = $1`,
      [id],
    );
    return found;
  }

  test("ends as cancelled if it was being cancelled, and its attempt says why", async () => {
    const id = await lost("cancelling");
    await expect.poll(() => status(id), PATIENCE).toBe("cancelled");
    expect(await row(id)).toEqual({ attempt: 1, nodeId: null });
    expect(await account.get(`/commands/${id}/attempts`)).toMatchObject({
      attempts: [{ number: 1, ended_at: expect.any(String), cause: "the node that ran it has fallen silent" }],
    });
  });

  test("keeps its attempt while it waits for another node, and a cancel ends that attempt", async () => {
    const id = await lost("running", pause);
    await expect.poll(async () => (await row(id))?.nodeId, PATIENCE).toBeNull();
    expect(await row(id)).toMatchObject({ attempt: 1 });
    await kill(id);
    expect(await account.get(`/commands/${id}/attempts`)).toMatchObject({
      attempts: [{ number: 1, ended_at: expect.any(String), cause: "cancelled" }],
    });
  });

  test("is begun again in the same attempt", async () => {
    const { nodes } = await (await given.operator()).get("/api/v2/nodes");
    const id = await lost("running");
    await expect.poll(async () => (await row(id))?.nodeId, PATIENCE).toBe(nodes[0].id);
    expect(await row(id)).toMatchObject({ attempt: 1 });
    await kill(id);
    expect((await account.get(`/commands/${id}/attempts`)).attempts).toHaveLength(1);
  });
});
