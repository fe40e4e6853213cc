import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { useServer, type AccountClient } from "../../../test/support/given.ts";
import { submitProgram } from "../../../test/support/programs.ts";
import { stubDriver } from "../../../test/support/stub-driver.ts";

const PATIENCE = { timeout: 45_000 };
const given = useServer({ driver: stubDriver, settings: { HEADGATE_ACCOUNT_DISK: "16m", HEADGATE_RUN_DISK: "0" } });
const body = { command_type: "SparkCommand", language: "python", program: "true" };

const ended = async (account: AccountClient, id: number) => account.get(`/commands/${id}?wait_seconds=45`);

async function causeOf(account: AccountClient, id: number): Promise<string> {
  expect(await ended(account, id)).toMatchObject({ status: "error" });
  return (await account.get(`/commands/${id}/attempts`)).attempts[0].cause;
}

test.each([
  ["what a command leaves in its storage", "head -c 60000000 /dev/zero > ${JOURNAL%journal}file; sleep 300"],
  ["empty files", "mkdir ${JOURNAL%journal}many; cd ${JOURNAL%journal}many; seq 5000 | xargs touch; sleep 300"],
])("%s above the quota of the account ends its commands, and others go on", async (_what, program) => {
  const [account, neighbour] = [await given.account(), await given.account()];
  const quiet = await submitProgram(account, "sleep 300");
  await expect.poll(async () => (await account.get(`/commands/${quiet}`)).status, PATIENCE).toBe("running");
  const loud = await submitProgram(account, program, { retry: 1, retry_delay: 0 });
  const cause = /^the account is above its quota: .*HEADGATE_ACCOUNT_DISK allows 16m$/;
  expect(await causeOf(account, loud)).toMatch(cause);
  expect(await causeOf(account, quiet)).toMatch(cause);
  await account.post("/commands", body).refused(422, /^The account cannot submit commands: .*HEADGATE_ACCOUNT_DISK/);
  const fine = await submitProgram(neighbour, "echo fine");
  expect(await ended(neighbour, fine)).toMatchObject({ status: "done" });

  const storage = join(given.dataDir, "accounts", String(account.accountId), "storage");
  for (const name of ["file", "many"]) rmSync(join(storage, name), { recursive: true, force: true });
  await expect.poll(async () => (await account.post("/commands", body).reply()).status, PATIENCE).toBe(200);
});
