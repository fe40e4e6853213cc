import { randomUUID } from "node:crypto";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { useServer, type AccountClient } from "../../../test/support/given.ts";
import { gatedProgram, queuedCommands } from "../../../test/support/queued-commands.ts";
import { addSteppedClock } from "../../../test/support/stepped-clock.ts";
import { stubDriver } from "../../../test/support/stub-driver.ts";

/** The database's clock is set forward and back while another node runs commands. */
const given = useServer({
  driver: stubDriver,
  reach: addSteppedClock,
  settings: { HEADGATE_LEASE_SECONDS: "5", HEADGATE_TIMEOUT_CHECK_SECONDS: "1" },
});
const PATIENCE = { timeout: 45_000 };
const { submit, letGo, cancelAll } = queuedCommands(given);
const sql = (text: string, values: unknown[] = []) => given.app.services.db.system.query<never>(text, values);

afterEach(async () => {
  await sql("update node set state = 'active'");
  await sql("delete from command where node_id in (select id from node where host = 'other')"); // no node would end it
  await cancelAll();
});

async function setClock(ahead: string): Promise<void> {
  await sql("update stepped.clock set ahead = $1", [ahead]);
}

async function pause(state: "paused" | "active"): Promise<void> {
  const operator = await given.operator();
  const { nodes } = await operator.get("/api/v2/nodes");
  for (const { id, host } of nodes) if (host !== "other") await operator.put(`/api/v2/nodes/${id}`, { state });
}

/** Waits until this node has polled the queue that many times. */
async function looks(count: number): Promise<void> {
  const beat = async (): Promise<number> => {
    const [row] = await given.app.services.db.system.query<{ beat: number }>(
      "select sum(beat)::int as beat from node where host <> 'other'",
    );
    return row?.beat ?? 0;
  };
  const before = await beat();
  const lookNow = async (): Promise<number> => {
    given.app.services.commandEvents.wake();
    return beat();
  };
  await expect.poll(lookNow, PATIENCE).toBeGreaterThanOrEqual(before + count);
}

/** A command that another node runs, which beats as a node does. */
async function runElsewhere(account: AccountClient): Promise<number> {
  const node = randomUUID();
  await sql("insert into node (id, host, boot_id, memory_budget_mib, version) values ($1, 'other', '', 1000, '1')", [
    node,
  ]);
  const beats = setInterval(() => {
    void sql("update node set beat = beat + 1, heartbeat_at = now() where id = $1", [node]).catch(() => undefined);
  }, 100);
  onTestFinished(() => clearInterval(beats));
  await pause("paused");
  const id = await submit(account, "true");
  await sql(
    `update command set status = 'running', node_id = $2, fence = 1, attempt = 1, start_time = now(),
       handle = '{"kind":"runner"}' where id = $1`,
    [id, node],
  );
  await pause("active");
  return id;
}

test("a command of a live node goes on while the clock is set forward by 15 minutes and back by hours", async () => {
  const account = await given.account();
  const id = await runElsewhere(account);
  for (const ahead of ["15 minutes", "-3 hours", "0", "2 days"]) {
    await setClock(ahead);
    await looks(2);
    expect(await account.get(`/commands/${id}`), ahead).toMatchObject({ status: "running" });
  }
});

test("waiting commands and due retries still start after the clock was set back", async () => {
  const account = await given.account();
  await setClock("2 days");
  const retried = await submit(account, gatedProgram("exit 1"), { retry: 1, retry_delay: 5 });
  await letGo(account, retried);
  await expect
    .poll(() => account.get(`/commands/${retried}`), PATIENCE)
    .toMatchObject({ waiting_reason: expect.stringMatching(/^next attempt due at/) });
  await pause("paused");
  const waiting = await submit(account, "true");
  await setClock("0");
  await looks(2);
  const [row] = await given.app.services.db.system.query<{ seconds: number }>(
    "select extract(epoch from due_at - now())::float8 as seconds from command where id = $1",
    [retried],
  );
  expect(row?.seconds).toBeGreaterThan(200);
  expect(row?.seconds).toBeLessThanOrEqual(300);
  await pause("active");
  expect(await account.get(`/commands/${waiting}?wait_seconds=45`)).toMatchObject({ status: "done" });
});
