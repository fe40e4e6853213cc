import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { useServer, type AccountClient } from "../../../test/support/given.ts";
import { submitProgram } from "../../../test/support/programs.ts";
import { queuedCommands } from "../../../test/support/queued-commands.ts";
import { stubDriver } from "../../../test/support/stub-driver.ts";

const given = useServer({
  driver: stubDriver,
  settings: { HEADGATE_COMMANDS_PER_CLUSTER: "2", HEADGATE_MEMORY_BUDGET: "350m", HEADGATE_LEASE_SECONDS: "5" },
});
const PATIENCE = { timeout: 45_000 };

async function statuses(account: AccountClient): Promise<Record<string, number>> {
  const rows = await given.app.services.db.system.query<{ status: string; count: number }>(
    "select status, count(*) from command where account_id = $1 group by status",
    [account.accountId],
  );
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}

afterEach(() => queuedCommands(given).cancelAll());

test("a node runs only as many commands as its memory allows, shared between the accounts", async () => {
  const [first, second] = [await given.account(), await given.account()];
  for (let each = 0; each < 2; each += 1) await submitProgram(first, "sleep 300");
  await expect.poll(() => statuses(first), PATIENCE).toEqual({ running: 2 });
  for (let each = 0; each < 2; each += 1) await submitProgram(second, "sleep 300");
  await expect.poll(() => statuses(second), PATIENCE).toEqual({ running: 1, waiting: 1 });
  const reason = async (): Promise<string> => {
    const { commands } = await second.get("/commands");
    return commands.find(({ status }: { status: string }) => status === "waiting").waiting_reason;
  };
  await expect.poll(reason, PATIENCE).toMatch(/node.s memory/);
});

describe("/api/v2/nodes", () => {
  test("a paused node starts nothing until it is resumed, and says so", async () => {
    const [operator, account] = [await given.operator(), await given.account()];
    const { nodes } = await operator.get("/api/v2/nodes");
    expect(nodes).toMatchObject([{ state: "active", memory_budget_mib: 350 }]);
    const path = `/api/v2/nodes/${nodes[0].id}`;
    expect(await operator.put(path, { state: "paused" })).toMatchObject({ state: "paused" });
    const id = await submitProgram(account, "true");
    await expect
      .poll(() => account.get(`/commands/${id}`), PATIENCE)
      .toMatchObject({ status: "waiting", waiting_reason: "the node is paused by its operator" });
    await operator.put(path, { state: "active" });
    await expect.poll(() => account.get(`/commands/${id}`), PATIENCE).toMatchObject({ status: "done" });
  });

  test("a draining node takes no new commands, and is drained when its last command has ended", async () => {
    const [operator, account] = [await given.operator(), await given.account()];
    const { nodes } = await operator.get("/api/v2/nodes");
    const path = `/api/v2/nodes/${nodes[0].id}`;
    const running = await submitProgram(account, "sleep 300");
    await expect.poll(() => statuses(account), PATIENCE).toEqual({ running: 1 });
    await operator.put(path, { state: "draining" });
    const waiting = await submitProgram(account, "true");
    await expect
      .poll(() => account.get(`/commands/${waiting}`), PATIENCE)
      .toMatchObject({ status: "waiting", waiting_reason: "the node is being drained by its operator" });
    expect(await operator.get("/api/v2/nodes")).toMatchObject({ nodes: [{ state: "draining", running_commands: 1 }] });
    await account.put(`/commands/${running}`);
    await expect
      .poll(() => operator.get("/api/v2/nodes"), PATIENCE)
      .toMatchObject({ nodes: [{ state: "drained", running_commands: 0 }] });
    expect(await account.get(`/commands/${waiting}`)).toMatchObject({ status: "waiting" });
    await operator.put(path, { state: "drained" }).refused(422, /^state must be one of/);
    await operator.put(path, { state: "active" });
    await expect.poll(() => account.get(`/commands/${waiting}`), PATIENCE).toMatchObject({ status: "done" });
  });

  test("only operators see nodes, and an unknown node is 404", async () => {
    const account = await given.account();
    await account.get("/api/v2/nodes").refused(404);
    const operator = await given.operator();
    await operator.put("/api/v2/nodes/00000000-0000-4000-8000-000000000000", { state: "paused" }).refused(404);
    await operator.put("/api/v2/nodes/x", { state: "paused" }).refused(404);
    const { nodes } = await operator.get("/api/v2/nodes");
    await operator.put(`/api/v2/nodes/${nodes[0].id}`, { state: "off" }).refused(422, /^state must be one of/);
  });
});

test("the node id stays in the data directory", async () => {
  const { nodes } = await (await given.operator()).get("/api/v2/nodes");
  expect(readFileSync(join(given.dataDir, "node-id"), "utf8")).toBe(`${nodes[0].id}\n`);
});
