import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { useServer, type AccountClient } from "../../../test/support/given.ts";
import { gatedProgram, queuedCommands } from "../../../test/support/queued-commands.ts";
import { refresh } from "../../../test/support/refresh.ts";
import { stubDriver } from "../../../test/support/stub-driver.ts";
import type { ClusterControl } from "../../clusters/control.ts";
import type { ProgramDriver } from "../programs/program-driver.ts";

/** More commands than a node reads from one lane. */
const CROWD = 40;
const NOT_READY = "Spark is being set up: half of it is there";
const PATIENCE = { timeout: 45_000 };

let isReady = true;
/** Clusters whose start never completes. */
const starting = new Set<number>();

const driver: ProgramDriver = {
  ...stubDriver,
  unready: () => (isReady ? null : NOT_READY),
  memoryMiB: ({ command }) => Number(/^# (\d+) MiB/.exec(String(command["program"]))?.[1] ?? 10),
};
const clusterControl: ClusterControl = {
  start: ({ id }, signal) => (starting.has(id) ? delay(600_000, undefined, { signal }) : Promise.resolve()),
  terminate: () => Promise.resolve(),
};
const given = useServer({ driver, clusterControl, settings: { HEADGATE_MEMORY_BUDGET: "350m" } });
const { submit, letGo, statuses, cancelAll } = queuedCommands(given);

beforeEach(() => {
  isReady = true;
});
afterEach(cancelAll);

const ofMiB = (memoryMiB: number): string => `# ${memoryMiB} MiB\n${gatedProgram()}`;

async function submitCrowd(account: AccountClient, program: string, more: object = {}): Promise<number[]> {
  return Promise.all(Array.from({ length: CROWD }, () => submit(account, program, { ...more })));
}

async function refreshCrowd(account: AccountClient): Promise<number[]> {
  const body = { template: "s3import", db_name: "default", hive_table: "orders" };
  const replies = await Promise.all(Array.from({ length: CROWD }, () => account.post("/commands", body)));
  return replies.map(({ id }: { id: number }) => id);
}

/** The table does not exist, so a refresh that has run ends with this error. */
async function refreshRuns(account: AccountClient, more: Record<string, unknown> = {}): Promise<void> {
  const { log } = await refresh(account, "orders", more, "error");
  expect(log).toContain("is not in the metastore");
}

async function expectAll(ids: readonly number[], status: string): Promise<void> {
  expect(new Set(await statuses(ids))).toEqual(new Set([status]));
}

describe("commands that have to wait do not hold up other kinds of commands", () => {
  test("a refresh runs while earlier programs wait for their engine", async () => {
    isReady = false;
    const [account, other] = [await given.account(), await given.account()];
    const programs = await submitCrowd(account, "true");
    await refreshRuns(account);
    await refreshRuns(other);
    await expectAll(programs, "waiting");
    expect(await account.get(`/commands/${programs.at(-1)}`)).toMatchObject({ waiting_reason: NOT_READY });
    isReady = true;
    await expect.poll(() => statuses(programs.slice(0, 1)), PATIENCE).toEqual(["done"]);
  });

  test("a refresh runs while earlier programs wait for memory", async () => {
    const account = await given.account();
    const running = await submit(account, ofMiB(200));
    await expect.poll(() => statuses([running]), PATIENCE).toEqual(["running"]);
    const programs = await submitCrowd(account, ofMiB(200));
    await refreshRuns(account);
    await expectAll(programs, "waiting");
    expect(await account.get(`/commands/${programs[0]}`)).toMatchObject({
      waiting_reason: "the memory of the node is taken by other commands",
    });
  });

  test("a small program runs while earlier refreshes wait for memory", async () => {
    const account = await given.account();
    const running = await submit(account, ofMiB(300));
    await expect.poll(() => statuses([running]), PATIENCE).toEqual(["running"]);
    const refreshes = await refreshCrowd(account);
    const small = await submit(account, "true");
    expect(await account.get(`/commands/${small}?wait_seconds=45`)).toMatchObject({ status: "done" });
    await expectAll(refreshes, "waiting");
    await letGo(account, running);
    await expect.poll(() => statuses(refreshes), PATIENCE).toEqual(refreshes.map(() => "error"));
  });

  test("a refresh runs while earlier programs wait for a cluster that does not start", async () => {
    const account = await given.account();
    const { id } = await account.post("/api/v2/clusters", { labels: ["slow"], engine: { type: "local" } });
    starting.add(id);
    const programs = await submitCrowd(account, "true", { label: "slow" });
    await refreshRuns(account, { label: "slow" });
    await expectAll(programs, "waiting");
    expect(await account.get(`/commands/${programs.at(-1)}`)).toMatchObject({ waiting_reason: "cluster starting" });
  });

  test("a program whose cluster has to be started runs while earlier refreshes wait for memory", async () => {
    const account = await given.account();
    await account.post("/api/v2/clusters", { labels: ["later"], engine: { type: "local" } });
    const running = await submit(account, ofMiB(300));
    await expect.poll(() => statuses([running]), PATIENCE).toEqual(["running"]);
    const body = { template: "s3import", db_name: "default", hive_table: "orders", label: "later" };
    await Promise.all(Array.from({ length: CROWD }, () => account.post("/commands", body)));
    const small = await submit(account, "true", { label: "later" });
    expect(await account.get(`/commands/${small}?wait_seconds=45`)).toMatchObject({ status: "done" });
  });
});
