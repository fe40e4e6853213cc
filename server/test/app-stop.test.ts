/** Three nodes on one database, and an app whose server may run on each of them. Any node can report on all of them. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { scriptConnect, type ScriptedConnect } from "./support/scripted-connect.ts";
import { useNodes } from "./support/use-nodes.ts";

const NAMES = ["first", "second", "third"] as const;
type Name = (typeof NAMES)[number];
const PATIENCE = { timeout: 45_000 };
/** Much less than the timeout of a statement that never ends. */
const PROMPT_MS = 9000;

let connect: ScriptedConnect;
let appId: number;

beforeAll(async () => {
  // Every statement runs for ever.
  connect = await scriptConnect(Array.from({ length: 100 }, () => ["stay"] as const));
});
afterAll(() => connect.stop());

/** While this file exists, nodes without heartbeats become silent within seconds. */
const silenceIn = (folder: string): string => join(folder, "silence");
const nodes = useNodes(NAMES, (folder) => ({
  HEADGATE_LEASE_SECONDS: "20", // each node checks the others once a second
  TEST_SILENCE: silenceIn(folder),
}));
const { at, idOf } = nodes;

beforeAll(async () => {
  const engine = { type: "connect", url: `sc://127.0.0.1:${connect.port}` };
  await at("first").post("/api/v2/clusters", { labels: ["remote"], engine });
});

beforeEach(async () => {
  ({ id: appId } = await at("first").post("/api/v2/apps", { name: "reports" }));
});

/** Starts a query that runs on that node until it is ended. */
async function queryOn(name: Name): Promise<number> {
  await nodes.onlyOn(name);
  const started = connect.starts.length;
  const { id } = await at("third").post("/commands", {
    command_type: "SparkCommand",
    sql: "select 1",
    label: "remote",
    app_id: appId,
  });
  await expect.poll(() => connect.starts.length, PATIENCE).toBeGreaterThan(started);
  expect(
    await nodes.db.system.query("select from command where id = $1 and node_id = $2", [id, idOf(name)]),
  ).toHaveLength(1);
  return id;
}

const statuses = (of: readonly Name[] = NAMES): Promise<string[]> =>
  Promise.all(of.map(async (name) => (await at(name).get(`/api/v2/apps/${appId}`)).status));

async function expectLost(id: number): Promise<void> {
  expect(await at("first").get(`/commands/${id}?wait_seconds=45`)).toMatchObject({ status: "error" });
}

describe("an app whose server runs on another node", () => {
  test("is UP on every node, and a stop on any node ends it together with its queries", async () => {
    const id = await queryOn("second");
    await expect.poll(() => statuses(), PATIENCE).toEqual(["UP", "UP", "UP"]);
    expect((await at("first").get("/api/v2/apps?per_page=100")).apps.at(-1)).toMatchObject({ id: appId, status: "UP" });
    const asked = performance.now();
    expect(await at("third").put(`/api/v2/apps/${appId}/stop`)).toMatchObject({ id: appId, status: "DOWN" });
    expect(performance.now() - asked).toBeLessThan(PROMPT_MS);
    await expectLost(id);
    expect(await statuses()).toEqual(["DOWN", "DOWN", "DOWN"]);

    // The error is the same as for a stop on the node itself.
    const local = await queryOn("second");
    await expect.poll(() => statuses(["third"]), PATIENCE).toEqual(["UP"]); // a later command started it again
    expect(await at("second").put(`/api/v2/apps/${appId}/stop`)).toMatchObject({ status: "DOWN" });
    await expectLost(local);
    for (const each of [id, local]) {
      const { attempts } = await at("third").get(`/commands/${each}/attempts`);
      expect(attempts).toMatchObject([{ cause: "its Spark server was stopped" }]);
    }
    await expect.poll(() => statuses(), PATIENCE).toEqual(["DOWN", "DOWN", "DOWN"]);
  });

  test("is stopped on all nodes at once", async () => {
    const ids = [await queryOn("first"), await queryOn("second")];
    await expect
      .poll(() => nodes.db.system.query("select from app_server where app_id = $1 and is_up", [appId]), PATIENCE)
      .toHaveLength(2);
    await at("third").put(`/api/v2/apps/${appId}/stop`);
    for (const id of ids) await expectLost(id);
    await expect.poll(() => statuses(), PATIENCE).toEqual(["DOWN", "DOWN", "DOWN"]);
  });

  test("is DOWN when that node is dead, can be stopped meanwhile, and ends when the node comes back", async () => {
    const id = await queryOn("second");
    await expect.poll(() => statuses(["first", "third"]), PATIENCE).toEqual(["UP", "UP"]);
    await nodes.process("second").crash();
    writeFileSync(silenceIn(nodes.folder), "");
    await expect.poll(() => statuses(["first", "third"]), PATIENCE).toEqual(["DOWN", "DOWN"]);
    rmSync(silenceIn(nodes.folder));
    const asked = performance.now();
    expect(await at("third").put(`/api/v2/apps/${appId}/stop`)).toMatchObject({ status: "DOWN" });
    expect(performance.now() - asked).toBeLessThan(PROMPT_MS);
    await nodes.start("second");
    await expectLost(id);
    await expect.poll(() => statuses(), PATIENCE).toEqual(["DOWN", "DOWN", "DOWN"]);
  });

  test("shows UP in the response to a stop while a live node has not ended it", async () => {
    await nodes.db.system.query(
      `insert into node (id, host, boot_id, state, memory_budget_mib, version)
       values ('00000000-0000-4000-8000-000000000001', 'stuck', 'boot', 'paused', 1000, '1')`,
    );
    await nodes.db.system.query(
      `insert into app_server (app_id, node_id, generation, is_up)
       values ($1, '00000000-0000-4000-8000-000000000001', 0, true)`,
      [appId],
    );
    expect(await at("third").put(`/api/v2/apps/${appId}/stop`)).toMatchObject({ status: "UP" });
    await nodes.db.system.query("delete from node where host = 'stuck'");
    expect(await statuses()).toEqual(["DOWN", "DOWN", "DOWN"]);
  });
});
