import { randomUUID } from "node:crypto";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { useServer, type AccountClient } from "../../../test/support/given.ts";
import { gatedProgram, queuedCommands } from "../../../test/support/queued-commands.ts";
import { silenceClock } from "../../../test/support/silence-clock.ts";
import { stubDriver } from "../../../test/support/stub-driver.ts";

/** Unless its options say otherwise, a command needs 100 MiB here. */
const silence = silenceClock();
const given = useServer({
  driver: stubDriver,
  silenceClock: silence.now,
  settings: { HEADGATE_MEMORY_BUDGET: "1000m", HEADGATE_LEASE_SECONDS: "5" },
});
const PATIENCE = { timeout: 45_000 };
const { submit, letGo, statuses, cancelAll } = queuedCommands(given);
const sql = (text: string, values: unknown[] = []) => given.app.services.db.system.query(text, values);

beforeAll(async () => {
  await vi.waitFor(async () => expect(await sql("select from node")).toHaveLength(1), PATIENCE);
});
afterEach(async () => {
  await sql("delete from node where host = 'other'");
  await cancelAll();
});

const submitLarge = (account: AccountClient, memory: string): Promise<number> =>
  submit(account, gatedProgram(), { arguments: `--driver-memory ${memory}` });
const submitMany = async (account: AccountClient, count: number): Promise<number[]> => {
  const ids: number[] = [];
  for (let each = 0; each < count; each += 1) ids.push(await submit(account, gatedProgram()));
  return ids;
};
const reason = async (account: AccountClient, id: number): Promise<string> =>
  (await account.get(`/commands/${id}`)).waiting_reason;

async function addLargerNode(): Promise<void> {
  await sql(
    `insert into node (id, host, boot_id, memory_budget_mib, version, state)
     values ($1, 'other', '', 30000, '1', 'paused')`,
    [randomUUID()],
  );
}

describe("a command larger than every node", () => {
  const LARGEST = "and the largest node has 1000 MiB for commands";
  const python = { command_type: "SparkCommand", language: "python", program: "x" };

  test.each([
    ["arguments", { ...python, arguments: "--driver-memory 20g" }],
    ["arguments", { ...python, arguments: "--conf spark.driver.memory=20g" }],
    ["cmdline", { command_type: "SparkCommand", cmdline: "--driver-memory 20g a.py" }],
    ["program", { command_type: "SparkCommand", language: "command_line", program: "--driver-memory 20g a.py" }],
  ])("is refused by its %s, and nothing is stored", async (field, body) => {
    const account = await given.account();
    await account.post("/commands", body).refused(422, new RegExp(`^${field} needs 20480 MiB of memory, ${LARGEST}`));
    expect((await account.get("/commands?all_users=1")).commands).toEqual([]);
  });

  test("is refused by the app or the cluster whose configuration makes it so", async () => {
    const account = await given.account();
    const config = { "spark.driver.memory": "20g" };
    const app = await account.post("/api/v2/apps", { name: "large", config });
    await account.post("/commands", { ...python, app_id: app.id }).refused(422, /^app_id needs 20480 MiB/);
    await account.put("/api/v2/clusters/default", { spark_config: config });
    await account.post("/commands", python).refused(422, /^label needs 20480 MiB/);
    const small = await account.post("/commands", { ...python, arguments: "--driver-memory 50m" });
    expect(small).toMatchObject({ status: "waiting" });
    await sql("update command set command = jsonb_set(command::jsonb, '{arguments}', 'null')::json where id = $1", [
      small.id,
    ]);
    await account.post(`/commands/${small.id}/rerun`).refused(422, /^label needs 20480 MiB/);
  });

  test("waits while a larger node is known, delays no other command, and ends as error when that node is gone", async () => {
    await addLargerNode();
    const account = await given.account();
    const large = await vi.waitFor(() => submitLarge(account, "20g"), PATIENCE);
    const small = await submit(account, "true");
    expect(await account.get(`/commands/${small}?wait_seconds=45`)).toMatchObject({ status: "done" });
    expect(await reason(account, large)).toBe("it needs more memory than this node has, and waits for a larger one");
    silence.passes = true; // it was paused, and is now silent for longer than the lease
    const ended = await account.get(`/commands/${large}?wait_seconds=45`);
    silence.passes = false;
    expect(ended).toMatchObject({ status: "error", start_time: null });
    const cause = `it needs 20480 MiB of memory, ${LARGEST}`;
    expect(await account.get(`/commands/${large}/attempts`)).toMatchObject({ attempts: [{ number: 1, cause }] });
    expect((await account.get(`/commands/${large}/error_logs`)).error_log).toContain(cause);
  });

  test("delays no smaller program of its cluster, however many large ones wait there", async () => {
    await addLargerNode();
    const account = await given.account();
    await vi.waitFor(() => submitLarge(account, "20g"), PATIENCE);
    for (let each = 0; each < 20; each += 1) await submitLarge(account, "20g");
    const small = await submit(account, "true");
    expect(await account.get(`/commands/${small}?wait_seconds=20`)).toMatchObject({ status: "done" });
  });
});

describe("the memory of a node", () => {
  test("goes to a small program while a large one before it on the same cluster waits for more", async () => {
    const account = await given.account();
    const running = await submitLarge(account, "600m");
    await expect.poll(() => statuses([running]), PATIENCE).toEqual(["running"]);
    const large = await submitLarge(account, "500m");
    const small = await submit(account, "true");
    expect(await account.get(`/commands/${small}?wait_seconds=45`)).toMatchObject({ status: "done" });
    expect(await reason(account, large)).toBe("the memory of the node is taken by other commands");
    await letGo(account, running);
    await expect.poll(() => statuses([large]), PATIENCE).toEqual(["running"]);
  });

  test("is left to the others when one account asks for nearly all of it", async () => {
    const [greedy, other] = [await given.account(), await given.account()];
    const [first = 0] = await submitMany(other, 1);
    await expect.poll(() => statuses([first]), PATIENCE).toEqual(["running"]);
    const large = await submitLarge(greedy, "900m");
    const [second = 0] = await submitMany(other, 1);
    await expect.poll(() => statuses([first, second, large]), PATIENCE).toEqual(["running", "running", "waiting"]);
    await expect
      .poll(() => reason(greedy, large), PATIENCE)
      .toBe("its account may not take more of the node's memory while other accounts need it");
    for (const id of [first, second]) await letGo(other, id);
    await expect.poll(() => statuses([large]), PATIENCE).toEqual(["running"]);
  });

  test("goes to one account beyond its share only while no other runs or waits", async () => {
    const [greedy, other] = [await given.account(), await given.account()];
    const crowd = [await submitLarge(greedy, "300m"), await submitLarge(greedy, "400m")];
    await expect.poll(() => statuses(crowd), PATIENCE).toEqual(["running", "running"]);
    const [small = 0] = await submitMany(other, 1);
    await expect.poll(() => statuses([small]), PATIENCE).toEqual(["running"]);
    const next = await submitLarge(greedy, "150m");
    await letGo(greedy, crowd[0] ?? 0);
    await expect.poll(() => statuses([crowd[0] ?? 0]), PATIENCE).toEqual(["done"]);
    // 400 + 150 MiB are more than half of the node, although 500 are free.
    await expect.poll(() => reason(greedy, next), PATIENCE).toMatch(/^its account may not take more/);
    await letGo(other, small);
    await expect.poll(() => statuses([next]), PATIENCE).toEqual(["running"]);
  });
});
