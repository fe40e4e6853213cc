import { expect, onTestFinished, test } from "vitest";
import { findProcess } from "../src/engines/detached-process/process-handle.ts";
import { readBootId, startTimeOfChild } from "../src/lib/process-table.ts";
import { adminCli } from "./support/admin-cli.ts";
import { operatorClient, startHeadgate } from "./support/headgate-process.ts";
import { install, stubEntry } from "./support/stub-installation.ts";
import { startThriftServer } from "./thrift/thrift-server.ts";

const PATIENCE = { timeout: 20_000 };
/** Whole installations are started and stopped. */
const SLOW = { timeout: 90_000 };

test(
  "admin stop leaves a running command alone, stop --all ends it, and the next start tells what became of it",
  SLOW,
  async () => {
    const { operator, dataDir, settings, remove } = await install({});
    const cli = adminCli(settings);
    const program = { command_type: "SparkCommand", language: "python", program: "sleep 600" };
    const { id } = await operator.post("/commands", program);
    const pidOf = async (): Promise<number | null> => (await operator.get(`/commands/${id}`)).pid;
    await expect.poll(pidOf, PATIENCE).toEqual(expect.any(Number));
    const pid = (await pidOf()) ?? 0;
    const driver = { bootId: await readBootId(), pid, startTime: (await startTimeOfChild(pid)) ?? "" };

    expect(await cli.run("stop")).toBe("Headgate has stopped.\n");
    expect(await findProcess(driver)).toBe("running");

    await startHeadgate(dataDir, settings, { entry: stubEntry });
    expect(await cli.run("stop", "--all")).toBe("Headgate has stopped, and all that it ran.\n");
    expect(await findProcess(driver)).toBe("gone");
    expect(await cli.refused("stop", "--all")).toMatch(/No Headgate runs/);

    const last = await startHeadgate(dataDir, settings, { entry: stubEntry });
    const found = operatorClient(last, dataDir);
    expect(await found.get(`/commands/${id}`)).toMatchObject({ status: "error" });
    expect(await found.get(`/commands/${id}/status_with_results`)).toMatchObject({
      error: "Headgate was stopped together with all that it ran",
    });
    await last.stop();
    remove();
  },
);

test("a table refresh, which may be begun twice, goes on in its attempt after stop --all", SLOW, async () => {
  const metastore = await startThriftServer(() => undefined); // which never answers, so the refresh goes on
  onTestFinished(() => metastore.stop());
  const { operator, dataDir, settings, remove } = await install({});
  onTestFinished(remove);
  await operator.put("/api/v2/accounts", { account: { metastore_uri: `thrift://127.0.0.1:${metastore.port}` } });
  const { id } = await operator.post("/commands", { template: "s3import", db_name: "default", hive_table: "orders" });
  await expect.poll(() => metastore.calls.length, PATIENCE).toBeGreaterThan(0);
  expect(await adminCli(settings).run("stop", "--all")).toBe("Headgate has stopped, and all that it ran.\n");

  const before = metastore.calls.length;
  const next = await startHeadgate(dataDir, settings, { entry: stubEntry });
  const found = operatorClient(next, dataDir);
  await expect.poll(() => metastore.calls.length, PATIENCE).toBeGreaterThan(before);
  expect(await found.get(`/commands/${id}`)).toMatchObject({ status: "running" });
  await found.put(`/commands/${id}`, { status: "kill" });
  const statusOf = async (): Promise<string> => {
    metastore.cutAll();
    return (await found.get(`/commands/${id}`)).status;
  };
  await expect.poll(statusOf, PATIENCE).toBe("cancelled");
  expect((await found.get(`/commands/${id}/attempts`)).attempts).toHaveLength(1);
  await next.stop();
});
