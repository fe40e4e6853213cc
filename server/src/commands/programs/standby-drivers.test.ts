import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { because, NO_ISOLATION } from "../../../test/skip-reasons/skip-reasons.ts";
import { useServer, type AccountClient } from "../../../test/support/given.ts";
import { stubStandby } from "../../../test/support/stub-standby.ts";
import { listProcesses } from "../../lib/process-table.ts";
import { findTestBubblewrap } from "../../../test/bubblewrap/find-test-bubblewrap.ts";
import { accountIdentity, commandFiles } from "../execution/command-files.ts";

let digest = "same";
const given = useServer({
  driver: stubStandby(() => digest),
  settings: { HEADGATE_TIMEOUT_CHECK_SECONDS: "1", HEADGATE_MEMORY_BUDGET: "300M" },
});
const { kind } = await findTestBubblewrap(accountIdentity(1));

const PATIENCE = { timeout: 45_000 };

/** There is memory for three drivers; each test frees it for the next one. */
let accounts: AccountClient[] = [];
afterEach(async () => {
  for (const account of accounts) {
    await account.put("/api/v2/clusters/default/state", { state: "terminate" });
    await untilNoneWaits(account);
  }
  accounts = [];
});

async function newAccount(): Promise<AccountClient> {
  const account = await given.account();
  accounts.push(account);
  return account;
}

async function run(account: AccountClient, program: string, more: object = {}) {
  const body = { command_type: "SparkCommand", language: "python", program, ...more };
  const { id } = await account.post("/commands", body);
  const ended = await account.get(`/commands/${id}?wait_seconds=45`);
  const files = commandFiles(given.dataDir, account.accountId, id).attempt(1);
  const read = (path: string): string => (existsSync(path) ? readFileSync(path, "utf8") : "");
  const { attempts } = await account.get(`/commands/${id}/attempts`);
  return {
    id,
    status: ended.status,
    output: read(files.output),
    log: read(files.log),
    exitCode: attempts[0]?.exit_code,
  };
}

function standbyFolders({ accountId }: AccountClient): string[] {
  const folder = join(given.dataDir, "accounts", String(accountId), "standby");
  return existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
}

/** By the status that its runner writes. */
async function untilOneWaits(account: AccountClient): Promise<string> {
  const waiting = (): string[] =>
    standbyFolders(account).filter((folder) => {
      const path = join(folder, "status.json");
      return existsSync(path) && readFileSync(path, "utf8").includes('"waiting"');
    });
  await expect.poll(waiting, PATIENCE).toHaveLength(1);
  return waiting()[0] ?? "";
}

async function untilNoneWaits(account: AccountClient): Promise<void> {
  await expect.poll(() => standbyFolders(account), PATIENCE).toEqual([]);
}

/** The runners of drivers that wait, or have waited, for a program of this file's server. */
const waiters = async (): Promise<number> =>
  (await listProcesses()).filter(
    ({ commandLine }) =>
      commandLine.includes(`runner.mjs ${given.dataDir}/accounts/`) && commandLine.includes("/standby/"),
  ).length;

describe.skipIf(kind !== "usable")("a standby driver", because(NO_ISOLATION), () => {
  test("runs the next program as a new driver would, and is replaced", async () => {
    const account = await newAccount();
    const program =
      'echo $MANNER >&2; pwd; ls -a . ../input | grep -v standby; id -un; echo "$COMMAND" > made; echo $ATTEMPT; exit 3';
    const cold = await run(account, program);
    const first = await untilOneWaits(account);
    const warm = await run(account, program);
    expect([cold.log, warm.log].map((text) => text.split("\n")[0])).toEqual(["cold", "standby"]);
    expect(warm).toMatchObject({ status: "error", exitCode: 3, output: cold.output });
    expect(existsSync(first)).toBe(false);
    expect(await untilOneWaits(account)).not.toBe(first);
  });

  test("is not used for a program that needs another driver, and keeps waiting", async () => {
    const account = await newAccount();
    await run(account, "true");
    const waiting = await untilOneWaits(account);
    expect(await run(account, "echo $MANNER # unfit")).toMatchObject({ status: "done", output: "cold\n" });
    expect(existsSync(waiting)).toBe(true);
  });

  test("belongs to one account", async () => {
    const [one, other] = [await newAccount(), await newAccount()];
    await run(one, "true");
    await untilOneWaits(one);
    expect(await run(other, "echo $MANNER")).toMatchObject({ status: "done", output: "cold\n" });
  });

  test("ends when its configuration has changed, and the program starts cold", async () => {
    const account = await newAccount();
    await run(account, "true");
    const old = await untilOneWaits(account);
    digest = "changed";
    try {
      expect(await run(account, "echo $MANNER")).toMatchObject({ status: "done", output: "cold\n" });
      await expect.poll(() => existsSync(old), PATIENCE).toBe(false);
      await untilOneWaits(account);
      expect(await run(account, "echo $MANNER")).toMatchObject({ status: "done", output: "standby\n" });
    } finally {
      digest = "same";
    }
  });

  test("that has died only makes the program start cold", async () => {
    const account = await newAccount();
    await run(account, "true");
    const waiting = await untilOneWaits(account);
    const { runner } = JSON.parse(readFileSync(join(waiting, "status.json"), "utf8")) as { runner: { pid: number } };
    process.kill(runner.pid, "SIGKILL");
    // Another standby driver may have taken its place by now, so the kind of the start is not checked.
    expect(await run(account, "echo ran >> $JOURNAL")).toMatchObject({ status: "done" });
    const journal = join(given.dataDir, "accounts", String(account.accountId), "storage/journal");
    expect(readFileSync(journal, "utf8")).toBe("ran\n");
  });

  test("whose status cannot be read is ended, and programs still run", async () => {
    const account = await newAccount();
    await run(account, "true");
    const waiting = await untilOneWaits(account);
    writeFileSync(join(waiting, "status.json"), '{"version":');
    await untilNoneWaits(account);
    expect(await run(account, "echo $MANNER")).toMatchObject({ status: "done", output: "cold\n" });
    await untilOneWaits(account);
  });

  test("gives up its memory to commands", async () => {
    const account = await newAccount();
    await run(account, "true");
    await untilOneWaits(account);
    const gate = join(given.dataDir, "accounts", String(account.accountId), "storage/gate");
    const body = { command_type: "SparkCommand", language: "python" };
    const program = `while [ ! -e ${gate} ]; do sleep 0.1; done # unfit`;
    const ids: number[] = [];
    for (let index = 0; index < 3; index += 1) ids.push((await account.post("/commands", { ...body, program })).id);
    for (const id of ids) {
      await expect.poll(() => account.get(`/commands/${id}`), PATIENCE).toMatchObject({ status: "running" });
    }
    await untilNoneWaits(account);
    for (const id of ids) await account.put(`/commands/${id}`);
    for (const id of ids) await account.get(`/commands/${id}?wait_seconds=45`);
    await untilOneWaits(account);
  });

  test("ends with its cluster and is not started again", async () => {
    const account = await newAccount();
    await run(account, "true");
    await untilOneWaits(account);
    await account.put("/api/v2/clusters/default/state", { state: "terminate" });
    await expect.poll(() => account.get("/api/v2/clusters/default/state"), PATIENCE).toMatchObject({ state: "DOWN" });
    expect(standbyFolders(account)).toEqual([]);
  });

  test("can be cancelled and times out like any driver", async () => {
    const account = await newAccount();
    await run(account, "true");
    await untilOneWaits(account);
    const timedOut = await run(account, "echo $MANNER; exec sleep 600", { timeout: 5 });
    expect(timedOut).toMatchObject({ status: "error", output: "standby\n" });
    expect(timedOut.log).toContain("timed out");
    await untilOneWaits(account);
    const body = { command_type: "SparkCommand", language: "python", program: "exec sleep 600" };
    const { id } = await account.post("/commands", body);
    await expect.poll(() => account.get(`/commands/${id}`), PATIENCE).toMatchObject({ pid: expect.any(Number) });
    await account.put(`/commands/${id}`);
    expect(await account.get(`/commands/${id}?wait_seconds=45`)).toMatchObject({ status: "cancelled" });
  });

  test("ends with its server", async () => {
    const account = await newAccount();
    await run(account, "true");
    await untilOneWaits(account);
    expect(await waiters()).toBeGreaterThan(0);
    accounts = [];
    await given.app.stop();
    expect(await waiters()).toBe(0);
  });
});
