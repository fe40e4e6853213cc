import { setTimeout as delay } from "node:timers/promises";
import { Client } from "pg";
import { expect, test } from "vitest";
import { useServer } from "../../../test/support/given.ts";
import { stubDriver } from "../../../test/support/stub-driver.ts";

/** A program can be prepared only when its account's metastore is up: here that takes long, or forever. */
const never = new Promise<never>(() => undefined);
let prepared: Promise<void> = never;
const commandLine: typeof stubDriver.commandLine = async (run, folders, onWait) => {
  onWait?.("waiting for a download");
  await prepared;
  return stubDriver.commandLine(run, folders);
};
const settings = { HEADGATE_TIMEOUT_CHECK_SECONDS: "1" };
const given = useServer({ settings, driver: { ...stubDriver, commandLine } });

const body = { command_type: "SparkCommand", language: "python", program: "true" };
const PATIENCE = { timeout: 45_000 };

async function submitAndClaim(more: Record<string, unknown> = {}) {
  const account = await given.account();
  const { id } = await account.post("/commands", { ...body, ...more });
  await expect.poll(() => account.get(`/commands/${id}`), PATIENCE).toMatchObject({ status: "running" });
  return { account, id };
}

test("a program that is being prepared is cancelled at once", async () => {
  const { account, id } = await submitAndClaim();
  await account.put(`/commands/${id}`);
  expect(await account.get(`/commands/${id}?wait_seconds=45`)).toMatchObject({ status: "cancelled" });
});

test("a program that is being prepared times out", async () => {
  const { account, id } = await submitAndClaim({ timeout: 1 });
  expect(await account.get(`/commands/${id}?wait_seconds=45`)).toMatchObject({ status: "error" });
  const { error_log: log } = await account.get(`/commands/${id}/error_logs`);
  expect(log).toContain("timed out: the timeout is 1 s");
});

test("the time of the preparation counts towards the timeout", async () => {
  prepared = delay(6000);
  const { account, id } = await submitAndClaim({ timeout: 7, program: "sleep 60" });
  const { status, start_time: start, end_time: end } = await account.get(`/commands/${id}?wait_seconds=45`);
  prepared = never;
  expect(status).toBe("error");
  expect(Date.parse(end) - Date.parse(start)).toBeLessThan(13_000);
});

test("the log of a program says what it waits for, and still does when the program has ended", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  prepared = promise;
  const { account, id } = await submitAndClaim();
  const log = async (): Promise<string> => (await account.get(`/commands/${id}/error_logs`)).error_log;
  await expect.poll(log, PATIENCE).toContain("headgate: waiting for a download\n");
  resolve();
  expect(await account.get(`/commands/${id}?wait_seconds=45`)).toMatchObject({ status: "done" });
  prepared = never;
  expect(await log()).toContain("headgate: waiting for a download\n");
});

test("a program that is being prepared does not delay the stop of the server, and the next server runs it", async () => {
  const { id } = await submitAndClaim();
  await given.app.stop();
  const store = new Client(given.database.connection);
  await store.connect();
  const { rows } = await store.query("select status, node_id, attempt from command where id = $1", [id]);
  await store.end();
  expect(rows).toEqual([{ status: "running", node_id: null, attempt: 0 }]);
});
