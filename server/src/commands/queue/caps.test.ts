import { afterEach, describe, expect, test } from "vitest";
import { useServer, type AccountClient } from "../../../test/support/given.ts";
import { gatedProgram, queuedCommands } from "../../../test/support/queued-commands.ts";
import { stubDriver } from "../../../test/support/stub-driver.ts";

const given = useServer({
  driver: stubDriver,
  settings: {
    HEADGATE_COMMANDS_PER_ACCOUNT: "3",
    HEADGATE_COMMANDS_PER_CLUSTER: "2",
    HEADGATE_MEMORY_BUDGET: "450m",
    HEADGATE_LEASE_SECONDS: "5",
    HEADGATE_ACCOUNT_MEMORY: "0", // has its own tests
  },
});
const PATIENCE = { timeout: 45_000 };
const { submit, letGo, statuses, cancelAll } = queuedCommands(given);

afterEach(cancelAll);

/** Submits gated commands one after the other. */
async function submitMany(account: AccountClient, count: number, label = "default"): Promise<number[]> {
  const ids: number[] = [];
  for (let each = 0; each < count; each += 1) ids.push(await submit(account, gatedProgram(), { label }));
  return ids;
}

async function addCluster({ accountId }: AccountClient, label: string): Promise<void> {
  await given.app.services.db.system.query(
    `with made as (insert into cluster (account_id, engine) values ($1, '{"type":"local"}') returning id)
     insert into cluster_label (account_id, label, cluster_id) select $1, $2, id from made`,
    [accountId, label],
  );
}

const times = (count: number, status: string): string[] => Array.from({ length: count }, () => status);

describe("a cap on running commands", () => {
  test("limits each cluster, and further commands wait and name the cap", async () => {
    const account = await given.account();
    const ids = await submitMany(account, 4);
    await expect.poll(() => statuses(ids), PATIENCE).toEqual([...times(2, "running"), ...times(2, "waiting")]);
    await expect
      .poll(() => account.get(`/commands/${ids[3]}`), PATIENCE)
      .toMatchObject({ status: "waiting", waiting_reason: "its cluster already runs its maximum of 2 commands" });
    await letGo(account, ids[1] ?? 0);
    await expect.poll(() => statuses(ids), PATIENCE).toEqual(["running", "done", "running", "waiting"]);
    expect(await account.get(`/commands/${ids[2]}`)).not.toHaveProperty("waiting_reason");
  });

  test("limits each account over all its clusters, and further commands wait and name the cap", async () => {
    const [account, other] = [await given.account(), await given.account()];
    for (const label of ["second", "third"]) await addCluster(account, label);
    const [one = 0, two = 0] = await submitMany(account, 2);
    const [three = 0] = await submitMany(account, 1, "second");
    await expect.poll(() => statuses([one, two, three]), PATIENCE).toEqual(times(3, "running"));
    const [four = 0, five = 0] = await submitMany(account, 2, "third");
    for (const id of [four, five]) {
      await expect
        .poll(() => account.get(`/commands/${id}`), PATIENCE)
        .toMatchObject({ status: "waiting", waiting_reason: "the account already runs its maximum of 3 commands" });
    }
    // Its cap does not limit other clusters.
    const [foreign = 0] = await submitMany(other, 1);
    await expect.poll(() => statuses([foreign, four, five]), PATIENCE).toEqual(["running", "waiting", "waiting"]);
    await letGo(account, one);
    await expect
      .poll(() => statuses([one, two, three, four, five]), PATIENCE)
      .toEqual(["done", "running", "running", "running", "waiting"]);
  });
});

test("the next command is one of the account that runs less, and among equals the one that has waited longest", async () => {
  const [large, small] = [await given.account(), await given.account()];
  await addCluster(large, "second");
  // The node runs four commands: the large account runs as many as it may, and another account runs the last one.
  const running = [...(await submitMany(large, 2)), ...(await submitMany(large, 1, "second"))];
  const neighbour = await given.account();
  const [last = 0] = await submitMany(neighbour, 1);
  await expect.poll(() => statuses([...running, last]), PATIENCE).toEqual(times(4, "running"));
  const crowd = [...(await submitMany(large, 2, "second")), ...(await submitMany(large, 2))];
  const late = await submitMany(small, 2);
  expect(await statuses([...crowd, ...late])).toEqual(times(6, "waiting"));
  // 2 against 0: the small account is next, although all others have waited longer.
  await letGo(large, running[0] ?? 0);
  await expect
    .poll(() => statuses([...crowd, ...late]), PATIENCE)
    .toEqual([...times(4, "waiting"), "running", "waiting"]);
  // 2 against 1: the small account is next again.
  await letGo(neighbour, last);
  await expect
    .poll(() => statuses([...crowd, ...late]), PATIENCE)
    .toEqual([...times(4, "waiting"), "running", "running"]);
  await addCluster(small, "second");
  const latest = await submitMany(small, 1, "second");
  // 1 against 2: the large account is next, with its command that has waited longest.
  await letGo(large, running[1] ?? 0);
  await expect
    .poll(() => statuses([...crowd, ...late, ...latest]), PATIENCE)
    .toEqual(["running", ...times(3, "waiting"), "running", "running", "waiting"]);
});
