import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { useServer, type AccountClient } from "../../../test/support/given.ts";
import { startHostileConnect, type HostileConnect } from "../../../test/support/hostile-connect.ts";

const given = useServer();

const FLOOD_MS = 1000;
/** The most CPU time that this thread may use while the neighbour waits for one answer. The attacks used 4 to 77 s. */
const MAX_CPU_MS = 1000;
/** The longest that the neighbour may wait for one answer, however busy the machine is. */
const MAX_WAIT_MS = 20_000;

const START = "The Spark server sent";
const TOO_MANY = `${START} a message of more than 10000 fields`;

let hostile: HostileConnect;
let tenant: AccountClient;
let neighbour: AccountClient;

beforeAll(async () => {
  [tenant, neighbour, hostile] = await Promise.all([given.account(), given.account(), startHostileConnect()]);
  const engine = { type: "connect", url: hostile.url };
  await tenant.post("/api/v2/clusters", { labels: ["streams"], engine });
  await tenant.post("/api/v2/clusters", { labels: ["replies"], engine: { ...engine, token: "4 million batches" } });
});
afterAll(() => hostile.stop());

interface Longest {
  cpuMs: number;
  waitMs: number;
}

/**
 * The most CPU time that this thread uses, and the longest time that passes, while the neighbour waits for one answer,
 * until the signal is aborted. Server and test share the thread. Time in which other processes have the processor does
 * not count as CPU time, so its limit can be low.
 */
async function longestAnswers(signal: AbortSignal): Promise<Longest> {
  const longest: Longest = { cpuMs: 0, waitMs: 0 };
  while (!signal.aborted) {
    const [cpuBefore, begin] = [process.threadCpuUsage(), performance.now()];
    await neighbour.get("/account");
    await delay(2);
    const { user, system } = process.threadCpuUsage(cpuBefore);
    longest.cpuMs = Math.max(longest.cpuMs, (user + system) / 1000);
    longest.waitMs = Math.max(longest.waitMs, performance.now() - begin);
  }
  return longest;
}

function expectNoWaiting({ cpuMs, waitMs }: Longest): void {
  expect(cpuMs).toBeLessThan(MAX_CPU_MS);
  expect(waitMs).toBeLessThan(MAX_WAIT_MS);
}

/** The cause for which the query fails. */
async function causeOf(sql: string): Promise<string> {
  const { id } = await tenant.post("/commands", { command_type: "SparkCommand", sql, label: "streams" });
  const { status } = await tenant.get(`/commands/${id}?wait_seconds=45`);
  const { attempts } = await tenant.get(`/commands/${id}/attempts`);
  expect(status, JSON.stringify(attempts)).toBe("error");
  return attempts[0].cause;
}

describe("a tenant's Spark Connect server", () => {
  test.each([
    ["4 million stages", TOO_MANY],
    ["425,000 stages", TOO_MANY],
    ["gzip", TOO_MANY],
    ["gzip bomb", "Received message that decompresses to a size larger than 8388608"],
    ["70 MiB", "Received message larger than max (73400330 vs 8388608)"],
    ["a long id", `${START} a message of more than 256 KiB`],
    ["200,000 levels", `${START} a schema of more than 100 levels`],
    ["200,000 columns", `${START} a schema of more than 20000 fields`],
    ["a long column", `${START} a schema of more than 2048 KiB`],
    ["7 MiB of rows", "its result cannot be stored: no Arrow message found at byte 0"],
    ["many details", TOO_MANY],
    ["malformed details", `${START} a message that cannot be read: premature EOF`],
  ])("that sends %s fails the query and does not keep a neighbour waiting", async (name, cause) => {
    const over = new AbortController();
    const longest = longestAnswers(over.signal);
    expect(await causeOf(name).finally(() => over.abort())).toBe(cause);
    expectNoWaiting(await longest);
  });

  test("that replies to a call with millions of messages cannot be used", async () => {
    const { id } = await tenant.post("/commands", { command_type: "SparkCommand", sql: "progress", label: "replies" });
    await expect
      .poll(async () => (await tenant.get(`/commands/${id}`)).waiting_reason, { timeout: 30_000 })
      .toBe(`cluster could not be started: ${TOO_MANY}`);
    await tenant.put(`/commands/${id}`, { status: "kill" });
  });

  test("that sends small messages without an end does not keep a neighbour waiting", async () => {
    const { id } = await tenant.post("/commands", { command_type: "SparkCommand", sql: "flood", label: "streams" });
    await expect.poll(async () => (await tenant.get(`/commands/${id}`)).status).toBe("running");
    expectNoWaiting(await longestAnswers(AbortSignal.timeout(FLOOD_MS)));
    await tenant.put(`/commands/${id}`, { status: "kill" });
    expect((await tenant.get(`/commands/${id}?wait_seconds=45`)).status).toBe("cancelled");
  });
});
