import { hostname } from "node:os";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { replyDuring } from "../../test/support/during-change.ts";
import { useServer, type AccountClient } from "../../test/support/given.ts";
import { roleHolder } from "../../test/support/role-holder.ts";
import { stubDriver } from "../../test/support/stub-driver.ts";
import { withoutId } from "../../test/support/without-id.ts";
import { Fault } from "../lib/fault.ts";
import type { ClusterControl, ControlledCluster } from "./control.ts";

/** Records its calls. While `isStepped` is set, each call waits until the test releases it. */
class SteppedControl implements ClusterControl {
  readonly calls: string[] = [];
  readonly clusters: ControlledCluster[] = [];
  #steps: PromiseWithResolvers<void>[] = [];
  isStepped = false;

  start(cluster: ControlledCluster, signal: AbortSignal): Promise<void> {
    return this.#step("start", cluster, signal);
  }
  terminate(cluster: ControlledCluster, signal: AbortSignal): Promise<void> {
    return this.#step("terminate", cluster, signal);
  }
  /** Completes the oldest waiting call. */
  async release(failure?: Error): Promise<void> {
    const step = await vi.waitUntil(() => this.#steps.shift(), { timeout: 45_000 });
    if (failure === undefined) step.resolve();
    else step.reject(failure);
  }
  async #step(what: string, cluster: ControlledCluster, signal: AbortSignal): Promise<void> {
    this.calls.push(`${what} ${cluster.id}`);
    this.clusters.push(cluster);
    if (!this.isStepped) return;
    const step = Promise.withResolvers<void>();
    this.#steps.push(step);
    signal.addEventListener("abort", () => {
      this.calls.push(`${what} ${cluster.id} cancelled`);
      this.#steps = this.#steps.filter((each) => each !== step);
      step.reject(signal.reason);
    });
    await step.promise;
  }
}

const control = new SteppedControl();
const clock = { now: () => new Date(Date.now() + ahead) };
let ahead = 0;
const given = useServer({ clusterControl: control, clock, driver: stubDriver, settings: { HEADGATE_RATE_LIMIT: "0" } });

const MINUTES = 60_000;
let account: AccountClient;
let id: number;

beforeEach(async () => {
  account = await given.account();
  ({ id } = await account.get("/api/v2/clusters/default"));
  control.isStepped = false;
  ahead = 0;
});

async function state(of = "default"): Promise<string> {
  return (await account.get(`/api/v2/clusters/${of}/state`)).state;
}

async function put(body: { state: string; force?: boolean }): Promise<string> {
  return (await account.put("/api/v2/clusters/default/state", body)).message;
}

async function becomes(expected: string): Promise<void> {
  await expect.poll(() => state()).toBe(expected);
}

function callsFor(cluster: number): string[] {
  return control.calls.filter((call) => call.split(" ")[1] === String(cluster));
}

/** Runs the periodic task. */
function reconcile(): Promise<void> {
  return given.app.services.clusterLifecycle.reconcile();
}

describe("PUT and GET /api/v2/clusters/<id or label>/state", () => {
  test("goes DOWN, PENDING, UP, TERMINATING, DOWN; repeating changes nothing", async () => {
    control.isStepped = true;
    expect(await account.get("/api/v2/clusters/default/state")).toEqual({
      cluster_id: expect.any(Number),
      state: "DOWN",
      since: expect.stringMatching(/Z$/),
      up_since: null,
      start_failure: null,
      nodes: [{ role: "master", hostname: hostname() }],
    });
    expect(await put({ state: "terminate" })).toBe(`Cluster ${id} is already DOWN.`);
    expect(await put({ state: "start" })).toBe(`Starting cluster ${id}.`);
    expect(await put({ state: "start" })).toBe(`Cluster ${id} is already PENDING.`);
    await becomes("PENDING");
    await control.release();
    await becomes("UP");
    expect(await account.get(`/api/v2/clusters/${id}`)).toMatchObject({ state: "UP" });
    expect((await account.get(`/api/v2/clusters/${id}/state`)).up_since).toMatch(/Z$/);
    expect(await put({ state: "start" })).toBe(`Cluster ${id} is already UP.`);
    expect(await put({ state: "terminate" })).toBe(`Terminating cluster ${id}.`);
    expect(await put({ state: "terminate" })).toBe(`Cluster ${id} is already TERMINATING.`);
    await account
      .put("/api/v2/clusters/default/state", { state: "start" })
      .refused(422, /^state must not be start while/);
    await control.release();
    await becomes("DOWN");
    expect(callsFor(id)).toEqual([`start ${id}`, `terminate ${id}`]);
  });

  test.each(["start", "terminate"])("%s of a cluster that is being deleted is refused by its label", async (to) => {
    const cluster = await account.post("/api/v2/clusters", { labels: ["nightly"], engine: { type: "local" } });
    const deletion = ["update cluster set deleted_at = now() where id = $1", [cluster.id]] as const;
    const { status, body } = await replyDuring(
      given,
      [deletion],
      account.put("/api/v2/clusters/nightly/state", { state: to }),
    );
    expect([status, body.error.error_message]).toEqual([404, "Cluster nightly does not exist."]);
  });

  test("concurrent requests start the cluster once", async () => {
    await Promise.all(Array.from({ length: 10 }, () => put({ state: "start" })));
    await becomes("UP");
    expect(callsFor(id)).toEqual([`start ${id}`]);
  });

  test("terminating cancels a start in progress", async () => {
    control.isStepped = true;
    await put({ state: "start" });
    await expect.poll(() => callsFor(id)).toEqual([`start ${id}`]);
    await put({ state: "terminate" });
    await expect.poll(() => callsFor(id)).toEqual([`start ${id}`, `start ${id} cancelled`, `terminate ${id}`]);
    await control.release();
    await becomes("DOWN");
  });

  test("a failed start leaves the cluster DOWN with the reason, until one succeeds", async () => {
    control.isStepped = true;
    await put({ state: "start" });
    await control.release(new Fault("invalid", "no master answers"));
    await becomes("DOWN");
    expect((await account.get("/api/v2/clusters/default/state")).start_failure).toBe("no master answers");
    await put({ state: "start" });
    await control.release(new Error("secret internals"));
    await expect
      .poll(async () => (await account.get("/api/v2/clusters/default/state")).start_failure)
      .toMatch(/it failed/);
    await put({ state: "start" });
    await control.release();
    await becomes("UP");
    expect((await account.get("/api/v2/clusters/default/state")).start_failure).toBeNull();
  });

  test("the control gets the settings and the decrypted token", async () => {
    const engine = { type: "connect", url: "sc://connect.example.com:15002", token: "hunter2" };
    const made = await account.post("/api/v2/clusters", { labels: ["remote"], engine, pools: { a: { weight: 2 } } });
    await account.put("/api/v2/clusters/remote/state", { state: "start" });
    await expect.poll(() => state("remote")).toBe("UP");
    const cluster = control.clusters.find((each) => each.id === made.id);
    expect(cluster).toMatchObject({
      accountId: account.accountId,
      engine: { type: "connect", url: engine.url },
      pools: { a: { weight: 2, minShare: 0 } },
    });
    expect(cluster?.token?.reveal()).toBe("hunter2");
  });

  test.each([
    [{}, /^state is required/],
    [{ state: "stop" }, /^state must be one of start, terminate/],
    [{ state: "terminate", force: "maybe" }, /^force must be a boolean/],
  ])("refuses %j and changes nothing", async (body, message) => {
    await account.put("/api/v2/clusters/default/state", body).refused(422, message);
    expect(await state()).toBe("DOWN");
  });

  test("another account's cluster cannot be told from one that does not exist", async () => {
    const other = await given.account();
    const unknown = await other.put("/api/v2/clusters/987654321/state", { state: "x" }).refused(404);
    for (const call of [
      other.put(`/api/v2/clusters/${id}/state`, { state: "x" }),
      other.get(`/api/v2/clusters/${id}/state`),
    ]) {
      expect(withoutId(await call.refused(404), id)).toBe(withoutId(unknown, "987654321"));
    }
  });

  test("starting and terminating need different permissions", async () => {
    const user = await given.member(account, { groups: ["system-user"] });
    const ender = await roleHolder(given, account, "cluster:terminate");
    await ender.put("/api/v2/clusters/default/state", { state: "start" }).refused(403, /cluster:start/);
    await user.put("/api/v2/clusters/default/state", { state: "start" });
    await becomes("UP");
    await user.put("/api/v2/clusters/default/state", { state: "terminate" }).refused(403, /cluster:terminate/);
    expect(await state()).toBe("UP");
    await ender.put("/api/v2/clusters/default/state", { state: "terminate" });
    await becomes("DOWN");
  });

  test("each change is audited with the requested state", async () => {
    await put({ state: "start" });
    const { audit_events: events } = await account.get("/api/v2/audit_events");
    expect(events[0]).toMatchObject({ operation: "cluster_state_change", object: `cluster/${id}/start` });
  });
});

describe("with commands running", () => {
  test("terminating is refused unless it is forced", async () => {
    await put({ state: "start" });
    await becomes("UP");
    const command = await account.post("/commands", { command_type: "SparkCommand", cmdline: "sleep 300" });
    const status = async (): Promise<string> => (await account.get(`/commands/${command.id}`)).status;
    await expect.poll(status).toBe("running");
    await account
      .put("/api/v2/clusters/default/state", { state: "terminate" })
      .refused(422, /while commands run on the cluster \(1\)/);
    expect(await state()).toBe("UP");
    expect(await put({ state: "terminate", force: true })).toBe(`Terminating cluster ${id}.`);
    await becomes("DOWN");
    await account.put(`/commands/${command.id}`, { status: "kill" });
  });
});

describe("an idle cluster", () => {
  async function up(): Promise<void> {
    await put({ state: "start" });
    await becomes("UP");
  }
  /** The state after the periodic task has run that many minutes later. */
  async function after(minutes: number): Promise<string> {
    ahead = minutes * MINUTES;
    await reconcile();
    return state();
  }

  test("ends at a full hour of its uptime after the account's two hours, not before", async () => {
    await up();
    expect(await after(119)).toBe("UP");
    ahead = 121 * MINUTES;
    await reconcile();
    await becomes("DOWN");
    expect(callsFor(id)).toEqual([`start ${id}`, `terminate ${id}`]);
  });

  test("ends at the first full hour if its own timeout is zero hours", async () => {
    await account.put("/api/v2/clusters/default", { idle_cluster_timeout: 0 });
    await up();
    expect(await after(59)).toBe("UP");
    ahead = 61 * MINUTES;
    await reconcile();
    await becomes("DOWN");
  });

  test("ends by seconds with the feature, its own before the account's", async () => {
    account = await given.account({ features: ["aggressive_downscaling"] });
    ({ id } = await account.get("/api/v2/clusters/default"));
    await account.put("/api/v2/accounts", { account: { idle_cluster_timeout_in_secs: 600 } });
    await account.put("/api/v2/clusters/default", { idle_cluster_timeout_in_secs: 300 });
    await up();
    expect(await after(4)).toBe("UP");
    ahead = 5.1 * MINUTES;
    await reconcile();
    await becomes("DOWN");
    ahead = 0;
    await account.put("/api/v2/clusters/default", { idle_cluster_timeout_in_secs: "" });
    await up();
    expect(await after(9)).toBe("UP");
    ahead = 10.1 * MINUTES;
    await reconcile();
    await becomes("DOWN");
  });

  test("stays up while a command waits or runs, and counts from the end of the last command", async () => {
    await account.put("/api/v2/clusters/default", { idle_cluster_timeout: 0 });
    await up();
    const command = await account.post("/commands", { command_type: "SparkCommand", cmdline: "sleep 300" });
    expect(await after(600)).toBe("UP");
    await account.put(`/commands/${command.id}`, { status: "kill" });
    await expect.poll(async () => (await account.get(`/commands/${command.id}`)).status).toBe("cancelled");
    await reconcile();
    await becomes("DOWN");
  });

  test("ends by its own timeout, also among many that are checked together", async () => {
    await account.put("/api/v2/accounts", { account: { idle_cluster_timeout: 6 } });
    await given.app.services.db.system.query(
      `insert into cluster (account_id, engine, state, up_since, idle_cluster_timeout_hours)
       select $1, '{"type":"local"}', 'UP', now(), 2 * (i % 2) from generate_series(1, 450) i`,
      [account.accountId],
    );
    ahead = 61 * MINUTES;
    await reconcile();
    const count = async (): Promise<unknown> =>
      given.app.services.db.system.query(
        "select state, count(*) from cluster where account_id = $1 group by 1 order by 1",
        [account.accountId],
      );
    await expect.poll(count).toEqual([
      { state: "DOWN", count: 226 },
      { state: "UP", count: 225 },
    ]);
  });
});

describe("a cluster that a command needs", () => {
  const use = async () => (await given.app.services.clusterLifecycle.use([id])).get(id);

  test("is started if it is DOWN, with a reason for waiting until it is UP", async () => {
    control.isStepped = true;
    await use();
    expect(await use()).toEqual({ state: "PENDING", waitingReason: "cluster starting" });
    await control.release();
    await becomes("UP");
    expect(await use()).toEqual({ state: "UP", waitingReason: null });
    await put({ state: "terminate" });
    expect(await use()).toMatchObject({ state: "TERMINATING", waitingReason: expect.stringMatching(/^cluster term/) });
    await control.release();
    await becomes("DOWN");
    expect(callsFor(id)).toEqual([`start ${id}`, `terminate ${id}`]);
  });

  test("is not started again soon after a failed start", async () => {
    control.isStepped = true;
    await use();
    await control.release(new Fault("invalid", "no master answers"));
    await becomes("DOWN");
    expect(await use()).toEqual({
      state: "DOWN",
      waitingReason: "cluster could not be started: no master answers",
    });
    await given.app.services.db.system.query(
      "update cluster set start_failed_at = now() - interval '31 seconds' where id = $1",
      [id],
    );
    expect(await use()).toMatchObject({ state: "PENDING" });
    await control.release();
    await becomes("UP");
  });

  test("may be one of many in a request, and is left out if it was deleted", async () => {
    const gone = await account.post("/api/v2/clusters", { labels: ["gone"], engine: { type: "local" } });
    await account.delete("/api/v2/clusters/gone");
    const other = await account.post("/api/v2/clusters", { labels: ["other"], engine: { type: "local" } });
    const used = await given.app.services.clusterLifecycle.use([id, gone.id, other.id]);
    expect([...used.keys()].toSorted((one, next) => one - next)).toEqual(
      [id, other.id].toSorted((one, next) => one - next),
    );
    expect([...used.values()].map(({ state }) => state)).toEqual(["PENDING", "PENDING"]);
  });
});
