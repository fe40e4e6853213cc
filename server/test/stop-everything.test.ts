import { expect, test } from "vitest";
import { findProcess } from "../src/engines/detached-process/process-handle.ts";
import { readBootId, startTimeOfChild } from "../src/lib/process-table.ts";
import { adminCli } from "./support/admin-cli.ts";
import { operatorClient, startHeadgate } from "./support/headgate-process.ts";
import { install, stubEntry } from "./support/stub-installation.ts";

const PATIENCE = { timeout: 20_000 };

test("admin stop leaves a running command alone, stop --all ends it, and the next start tells what became of it", async () => {
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
});
