import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, describe, expect, test, vi } from "vitest";
import type { Client } from "./support/client.ts";
import { operatorClient, startHeadgate, temporaryDataDir, type HeadgateProcess } from "./support/headgate-process.ts";

const PATIENCE = { timeout: 45_000 };
const dataDir = temporaryDataDir();
/** Each test continues with the previous test's server, because a start takes longer than a test. */
let headgate: HeadgateProcess | undefined;

afterAll(async () => {
  await headgate?.stop();
  dataDir.remove();
});

test("a client that repeats requests with an idempotency key creates each account once, despite kill -9 of server and database", async () => {
  headgate = await startHeadgate(dataDir.path); // a server that has just started is slow: requests overlap the crashes
  const tokens = new Map<string, string>();
  const names = Array.from({ length: 24 }, (_, index) => `once-${index}`);
  const create = async (name: string): Promise<void> => {
    while (!tokens.has(name)) {
      const client = operatorClient(headgate ?? fail(), dataDir.path);
      const reply = await client
        .post("/account", { account: { name } }, { headers: { "Idempotency-Key": name } })
        .reply()
        .catch(() => undefined);
      if (reply?.status === 200) tokens.set(name, reply.body.authentication_token);
      else await vi.waitUntil(isReachable, PATIENCE);
    }
  };
  const creating = Promise.all(names.map(create));
  await expect.poll(() => tokens.size, PATIENCE).toBeGreaterThan(2);
  await headgate.crash();
  headgate = await startHeadgate(dataDir.path);
  process.kill(postmasterPid(), "SIGKILL");
  await creating;

  const operator = operatorClient(headgate, dataDir.path);
  const { accounts } = await operator.get("/api/v2/accounts/all?per_page=100");
  const made = accounts.map(({ name }: { name: string }) => name).filter((name: string) => name.startsWith("once-"));
  expect(made.toSorted()).toEqual(names.toSorted());
});

describe("nothing acknowledged is lost", () => {
  test("every acknowledged address exists after kill -9 of the server during writes and a restart", async () => {
    headgate ??= await startHeadgate(dataDir.path);
    const writers = startWriters(operatorClient(headgate, dataDir.path), "10.1");
    await expect.poll(() => writers.acknowledged.length, PATIENCE).toBeGreaterThan(100);
    await headgate.crash();
    await writers.stop();

    headgate = await startHeadgate(dataDir.path);
    expect(await listed(operatorClient(headgate, dataDir.path))).toEqual(expect.arrayContaining(writers.acknowledged));
  });

  test("kill -9 of PostgreSQL during writes leads to 503 until it restarts by itself, and every acknowledged address exists", async () => {
    headgate ??= await startHeadgate(dataDir.path);
    const client = operatorClient(headgate, dataDir.path);
    const writers = startWriters(client, "10.2");
    await expect.poll(() => writers.acknowledged.length, PATIENCE).toBeGreaterThan(100);
    process.kill(postmasterPid(), "SIGKILL");
    await expect.poll(() => writers.refused.length, PATIENCE).toBeGreaterThan(0);
    const atCrash = writers.acknowledged.length;
    await expect.poll(() => writers.acknowledged.length, PATIENCE).toBeGreaterThan(atCrash + 100);
    await writers.stop();

    expect(new Set(writers.refused)).toEqual(new Set([503]));
    expect(await listed(client)).toEqual(expect.arrayContaining(writers.acknowledged));
  });
});

async function isReachable(): Promise<boolean> {
  const reply = await operatorClient(headgate ?? fail(), dataDir.path)
    .get("/account")
    .reply()
    .catch(() => undefined);
  return reply?.status === 200;
}

function fail(): never {
  throw new Error("Headgate is not running");
}

function postmasterPid(): number {
  const [pid] = readFileSync(join(dataDir.path, "postgres/data/postmaster.pid"), "utf8").split("\n");
  return Number(pid);
}

interface Writers {
  acknowledged: string[];
  refused: number[];
  stop(): Promise<void>;
}

/** Eight clients that whitelist addresses one by one and record the acknowledged ones. */
function startWriters(client: Client, prefix: string): Writers {
  const acknowledged: string[] = [];
  const refused: number[] = [];
  const stopped = new AbortController();
  const write = async (writer: number): Promise<void> => {
    for (let each = 0; !stopped.signal.aborted && each < 65_536; each += 1) {
      const ip = `${prefix}.${writer}.${each % 256}`;
      const reply = await client
        .post("/whitelist_ip", { ip_cidr: ip })
        .reply()
        .catch(() => undefined);
      if (reply?.status === 200) {
        acknowledged.push(ip);
        continue;
      }
      if (reply !== undefined) refused.push(reply.status);
      await delay(20); // like a client that tries again; otherwise thousands of refusals slow down the restart
    }
  };
  const writing = Promise.all(Array.from({ length: 8 }, (_, writer) => write(writer)));
  return {
    acknowledged,
    refused,
    async stop() {
      stopped.abort();
      await writing;
    },
  };
}

async function listed(client: Client): Promise<string[]> {
  const { account_whitelisted_ips: ips } = await client.get("/whitelist_ip");
  return ips.map(({ ip_cidr }: { ip_cidr: string }) => ip_cidr);
}
