import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { findProcess, type ProcessHandle } from "../src/processes/detached-process/detached-process.ts";
import { findPython } from "../src/processes/set-up/find-python.ts";
import { readBootId, startTimeOfChild } from "../src/lib/process-table.ts";
import { adminCli, adminHere, urlOf } from "./support/admin-cli.ts";
import type { Client } from "./support/client.ts";
import { freePort, isFree } from "./support/free-port.ts";
import { operatorClient, startHeadgate } from "./support/headgate-process.ts";
import { install, stubEntry } from "./support/stub-installation.ts";
import { cloneDatabase } from "./support/test-database.ts";
import { startThriftServer } from "./thrift/thrift-server.ts";

const PATIENCE = { timeout: 45_000 };
/** Without Python the server binds the port itself. */
const isPortHeld = (await findPython()) !== undefined;
/** Whole installations are started and stopped. */
const SLOW = { timeout: 180_000 };

const program = { command_type: "SparkCommand", language: "python", program: "echo up; sleep 600" };

/** Submits the command and waits until it has begun. */
async function runProgram(operator: Client, text = program.program): Promise<{ id: number; driver: ProcessHandle }> {
  const { id } = await operator.post("/commands", { ...program, program: text });
  const pidOf = async (): Promise<number | null> => (await operator.get(`/commands/${id}`)).pid;
  await expect.poll(pidOf, PATIENCE).toEqual(expect.any(Number));
  const pid = (await pidOf()) ?? 0;
  return { id, driver: { bootId: await readBootId(), pid, startTime: (await startTimeOfChild(pid)) ?? "" } };
}

/** The fields of an ended command that a user sees. */
async function endOf(operator: Client, id: number): Promise<unknown> {
  const ended = async (): Promise<string> => (await operator.get(`/commands/${id}`)).status;
  await expect.poll(ended, PATIENCE).not.toBe("running");
  const { status, error } = await operator.get(`/commands/${id}/status_with_results`);
  const { text: log } = await operator.get(`/commands/${id}/logs`).reply();
  return { status, error, log };
}

const STOPPED = {
  status: "error",
  error: "Headgate was stopped and ended all running commands",
  log: "headgate: cancelled\nheadgate: Headgate was stopped and ended all running commands\n",
};

test(
  "stop --all ends the processes of a running server and of a killed one, and the next start settles both in the same way; a table refresh, which is restartable, continues in the same attempt",
  SLOW,
  async () => {
    const metastore = await startThriftServer(() => undefined); // never responds, so the refresh does not end
    onTestFinished(() => metastore.stop());
    const port = await freePort();
    const { operator, dataDir, settings, remove } = await install({}, { HEADGATE_PORT: String(port) });
    onTestFinished(remove);
    const cli = adminHere(settings);
    await operator.put("/api/v2/accounts", { account: { metastore_uri: `thrift://127.0.0.1:${metastore.port}` } });
    const refresh = await operator.post("/commands", {
      template: "s3import",
      db_name: "default",
      hive_table: "orders",
    });
    await expect.poll(() => metastore.calls.length, PATIENCE).toBeGreaterThan(0);
    const alive = await runProgram(operator);
    expect(await adminCli(settings).run("stop", "--all")).toBe("Headgate and all its processes have stopped.\n");
    expect(await findProcess(alive.driver)).toBe("gone");
    expect(await isFree(port)).toBe(true);

    const before = metastore.calls.length;
    const second = await startHeadgate(dataDir, settings, { entry: stubEntry });
    const killed = operatorClient(second, dataDir);
    await expect.poll(() => metastore.calls.length, PATIENCE).toBeGreaterThan(before);
    expect(await killed.get(`/commands/${refresh.id}`)).toMatchObject({ status: "running" });
    await killed.put(`/commands/${refresh.id}`, { status: "kill" });
    const refreshStatus = async (): Promise<string> => {
      metastore.cutAll();
      return (await killed.get(`/commands/${refresh.id}`)).status;
    };
    await expect.poll(refreshStatus, PATIENCE).toBe("cancelled");
    expect((await killed.get(`/commands/${refresh.id}/attempts`)).attempts).toHaveLength(1);
    const left = await runProgram(killed);
    const go = join(dataDir, "accounts/1/storage/go");
    const ends = (code: number): string => `while ! [ -e ${go} ]; do sleep 0.05; done; exit ${code}`;
    const failing = await runProgram(killed, ends(7));
    const succeeding = await runProgram(killed, ends(0));
    await second.crash();
    writeFileSync(go, "");
    for (const { driver } of [failing, succeeding]) await expect.poll(() => findProcess(driver), PATIENCE).toBe("gone");
    expect(await findProcess(left.driver)).toBe("running");
    expect(await cli.refused("stop")).toContain(`No Headgate runs on ${dataDir}. \`stop --all\` ends the processes`);
    expect(await isFree(port)).toBe(!isPortHeld);
    // The runner of a program that has just ended may still be writing its exit code: it counts as a program, too.
    expect(await cli.run("stop", "--all")).toMatch(
      /^Ended the processes that an earlier Headgate on .* left running: (1 program|[23] programs)\.$/m,
    );
    expect(await findProcess(left.driver)).toBe("gone");
    expect(await isFree(port)).toBe(true);
    expect(await cli.run("stop", "--all")).toMatch(/^No Headgate runs on .*, and no process of an earlier one is left/);

    const third = await startHeadgate(dataDir, settings, { entry: stubEntry });
    const client = operatorClient(third, dataDir);
    for (const { id } of [alive, left]) expect(await endOf(client, id)).toEqual(STOPPED);
    expect(await endOf(client, failing.id)).toMatchObject({ status: "error", error: "exit code 7" });
    expect(await endOf(client, succeeding.id)).toMatchObject({ status: "done" });
    const later = await runProgram(client);
    expect(await cli.run("stop")).toBe("Headgate has stopped.\n");
    expect(await findProcess(later.driver)).toBe("running");
    expect(await cli.run("stop", "--all")).toContain("left running: 1 program");
  },
);

test("stop --all without a server also ends the processes of a node on a shared database", SLOW, async () => {
  const database = await cloneDatabase();
  onTestFinished(() => database.drop());
  const { operator, headgate, dataDir, settings, remove } = await install({}, { DATABASE_URL: urlOf(database) });
  onTestFinished(remove);
  const { id, driver } = await runProgram(operator);
  await headgate.crash();
  expect(await adminHere(settings).run("stop", "--all")).toContain("left running: 1 program.\n");
  expect(await findProcess(driver)).toBe("gone");
  const next = await startHeadgate(dataDir, settings, { entry: stubEntry });
  expect(await endOf(operatorClient(next, dataDir), id)).toEqual(STOPPED);
  await next.stop();
});
