import { afterEach, describe, expect, test } from "vitest";
import { useServer } from "../../../test/support/given.ts";
import { gatedProgram, queuedCommands } from "../../../test/support/queued-commands.ts";
import { stubDriver } from "../../../test/support/stub-driver.ts";

const given = useServer({ driver: stubDriver, settings: { HEADGATE_LEASE_SECONDS: "5" } });
const PATIENCE = { timeout: 45_000 };
const { submit, letGo, cancelAll } = queuedCommands(given);

afterEach(cancelAll);

describe("between two attempts", () => {
  test("a command says when the next attempt is due", async () => {
    const account = await given.account();
    const id = await submit(account, "exit 1", { retry: 1, retry_delay: 5 });
    await expect
      .poll(() => account.get(`/commands/${id}`), PATIENCE)
      .toMatchObject({ status: "running", pid: null, waiting_reason: expect.any(String) });
    const [row] = await given.app.services.db.system.query<{ due: string }>(
      `select to_char(due_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as due from command where id = $1`,
      [id],
    );
    const { waiting_reason: reason, start_time } = await account.get(`/commands/${id}`);
    expect(reason).toBe(`next attempt due at ${row?.due}`);
    const delaySeconds = (Date.parse(row?.due ?? "") - Date.parse(start_time)) / 1000;
    expect(delaySeconds).toBeGreaterThanOrEqual(300);
    expect(delaySeconds).toBeLessThan(360);
    const { commands } = await account.get("/commands");
    expect(commands).toMatchObject([{ id, waiting_reason: reason }]);
    expect(await account.put(`/commands/${id}`)).not.toHaveProperty("waiting_reason");
  });

  test("a command whose next attempt is due waits for the same reasons as others", async () => {
    const [operator, account] = [await given.operator(), await given.account()];
    const id = await submit(account, gatedProgram('[ "$ATTEMPT" = 2 ]'), { retry: 1, retry_delay: 0 });
    await expect.poll(() => account.get(`/commands/${id}`), PATIENCE).toMatchObject({ pid: expect.any(Number) });
    expect(await account.get(`/commands/${id}`)).not.toHaveProperty("waiting_reason");
    const { nodes } = await operator.get("/api/v2/nodes");
    await operator.put(`/api/v2/nodes/${nodes[0].id}`, { state: "paused" });
    await letGo(account, id);
    await expect
      .poll(() => account.get(`/commands/${id}`), PATIENCE)
      .toMatchObject({
        status: "running",
        pid: null,
        end_time: null,
        waiting_reason: "the node is paused by its operator",
      });
    await operator.put(`/api/v2/nodes/${nodes[0].id}`, { state: "active" });
    expect(await account.get(`/commands/${id}?wait_seconds=45`)).toMatchObject({ status: "done" });
  });
});
