import { beforeEach, describe, expect, test } from "vitest";
import { useServer, type AccountClient } from "../../test/support/given.ts";
import { submitProgram } from "../../test/support/programs.ts";
import { stubDriver } from "../../test/support/stub-driver.ts";

/** End to end, with programs that really run. */
const given = useServer({ driver: stubDriver });
const PATIENCE = { timeout: 45_000 };

let account: AccountClient;
beforeEach(async () => {
  account = await given.account();
});

async function status(id: number): Promise<string> {
  return (await account.get(`/commands/${id}`)).status;
}

async function state(): Promise<string> {
  return (await account.get("/api/v2/clusters/default/state")).state;
}

describe("a command", () => {
  test("starts its cluster, which stays up afterwards", async () => {
    expect(await state()).toBe("DOWN");
    const id = await submitProgram(account, "echo done");
    await expect.poll(() => status(id), PATIENCE).toBe("done");
    expect(await state()).toBe("UP");
  });
});

describe("a forced termination", () => {
  test("ends running commands as error with the cause, and leaves the cluster DOWN", async () => {
    const id = await submitProgram(account, "sleep 300");
    await expect.poll(() => status(id), PATIENCE).toBe("running");
    await account.put("/api/v2/clusters/default/state", { state: "terminate" }).refused(422, /or set force to true/);
    await account.put("/api/v2/clusters/default/state", { state: "terminate", force: true });
    await expect.poll(() => status(id), PATIENCE).toBe("error");
    await expect.poll(state, PATIENCE).toBe("DOWN");
    expect((await account.get(`/commands/${id}/error_logs`)).error_log).toMatch(/cluster was terminated/);
  });

  test("lets waiting commands start the cluster again", async () => {
    await account.put("/api/v2/clusters/default", { max_concurrent_commands: 1 });
    const first = await submitProgram(account, "sleep 300");
    await expect.poll(() => status(first), PATIENCE).toBe("running");
    const second = await submitProgram(account, "echo done");
    await account.put("/api/v2/clusters/default/state", { state: "terminate", force: true });
    await expect.poll(() => status(second), PATIENCE).toBe("done");
    expect(await status(first)).toBe("error");
    expect(await state()).toBe("UP");
  });

  test("ends a command even if it has retries left", async () => {
    const running = await submitProgram(account, "sleep 300", { retry: 3 });
    await expect.poll(() => status(running), PATIENCE).toBe("running");
    await account.put("/api/v2/clusters/default/state", { state: "terminate", force: true });
    await expect.poll(() => status(running), PATIENCE).toBe("error");
    await expect.poll(state, PATIENCE).toBe("DOWN");
  });

  test("ends a command between two attempts", async () => {
    const id = await submitProgram(account, "exit 3", { retry: 1, retry_delay: 60 });
    const attempts = async (): Promise<unknown> => (await account.get(`/commands/${id}/attempts`)).attempts;
    await expect.poll(attempts, PATIENCE).toMatchObject([{ exit_code: 3 }]);
    expect(await status(id)).toBe("running");
    await account
      .put("/api/v2/clusters/default/state", { state: "terminate" })
      .refused(422, /while commands run on the cluster \(1\)/);
    await account.put("/api/v2/clusters/default/state", { state: "terminate", force: true });
    expect(await status(id)).toBe("error");
    expect(await attempts()).toMatchObject([
      { exit_code: 3, cause: "exit code 3; its cluster was terminated before the next attempt" },
    ]);
    expect((await account.get(`/commands/${id}/error_logs`)).error_log).toMatch(/cluster was terminated before/);
    await expect.poll(state, PATIENCE).toBe("DOWN");
  });
});
