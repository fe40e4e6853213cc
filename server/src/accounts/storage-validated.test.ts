import { beforeAll, expect, test } from "vitest";
import { storageSettings, useSeaweedFs, type S3Keys } from "../../test/seaweedfs/seaweedfs.ts";
import { useServer, type AccountClient } from "../../test/support/given.ts";
import { runProgram } from "../../test/support/programs.ts";
import { copyEnd, printReport, submitCopy, withStubCopies } from "../../test/support/stub-copy.ts";
import { stubDriver } from "../../test/support/stub-driver.ts";
import { waitForCommandEnd } from "../../test/support/wait-for-command-end.ts";
import { s3Store } from "../object-store/s3/s3-store.ts";

const given = useServer({ driver: stubDriver, commandKinds: withStubCopies });
const seaweedFs = useSeaweedFs();
const PATIENCE = { timeout: 45_000 };
const OTHER_KEYS = { accessKeyId: "AKIAOTHEROTHEROTHER0", secretAccessKey: "other" };
let bucket = "";

beforeAll(async () => {
  bucket = await seaweedFs.bucket();
  const store = s3Store({ ...seaweedFs, endpoint: seaweedFs.endpoint, checkAddress: () => null });
  await store.put(`s3://${bucket}/job.py`, Buffer.from("true"));
  await store.close();
});

async function setStorage(account: AccountClient, keys: S3Keys, more: object = {}): Promise<void> {
  await account.put("/api/v2/accounts", { account: { ...storageSettings(keys, seaweedFs.endpoint), ...more } });
}

async function accountOnS3(keys: S3Keys = seaweedFs.credentials, more: object = {}): Promise<AccountClient> {
  const account = await given.account();
  await setStorage(account, keys, more);
  expect(await isValidated(account)).toBe(false);
  return account;
}

async function isValidated(account: AccountClient): Promise<boolean> {
  return (await account.get("/account")).storage_validated;
}

const script = () => ({ command_type: "SparkCommand", script_location: `s3://${bucket}/job.py` });

test("the storage of an account is validated when a script was read with its keys, until the keys change", async () => {
  const account = await accountOnS3();
  await account.post("/commands", script());
  expect(await isValidated(account)).toBe(true);
  await setStorage(account, OTHER_KEYS);
  expect(await isValidated(account)).toBe(false);
});

test("keys that S3 refuses are not validated", async () => {
  const account = await accountOnS3(OTHER_KEYS);
  await account.post("/commands", script()).refused(422);
  expect(await isValidated(account)).toBe(false);
});

test("the storage of an account is validated when a result was published with its keys", async () => {
  const account = await accountOnS3(seaweedFs.credentials, { defloc: `s3://${bucket}/results` });
  await runProgram(account, "echo result");
  await expect.poll(() => isValidated(account), PATIENCE).toBe(true);
});

test("a result that is published on the server's own disk validates no keys", async () => {
  const account = await accountOnS3(OTHER_KEYS);
  await runProgram(account, "echo result");
  const unpublished = "select from command_publishing where account_id = $1";
  await expect.poll(() => given.app.services.db.system.query(unpublished, [account.accountId]), PATIENCE).toEqual([]);
  expect(await isValidated(account)).toBe(false);
});

test.each([true, false])(
  "a copy validates the account's keys only if it has used them (used: %s)",
  async (usedAccountKeys) => {
    const account = await accountOnS3();
    const id = await submitCopy(account, printReport(copyEnd({ files: 1, usedAccountKeys })));
    expect(await waitForCommandEnd(account, id)).toMatchObject({ status: "done" });
    expect(await isValidated(account)).toBe(usedAccountKeys);
  },
);

test("keys that were changed while a copy ran are not validated by it", async () => {
  const account = await accountOnS3();
  const script = `while [ ! -e gate ]; do sleep 0.05; done; ${printReport(copyEnd({ usedAccountKeys: true }))}`;
  const id = await submitCopy(account, `cd ${given.dataDir}/accounts/${account.accountId}/storage; ${script}`);
  await expect.poll(() => account.get(`/commands/${id}`), PATIENCE).toMatchObject({ pid: expect.any(Number) });
  await setStorage(account, OTHER_KEYS);
  await runProgram(account, `touch $(dirname $JOURNAL)/gate`);
  expect(await waitForCommandEnd(account, id)).toMatchObject({ status: "done" });
  expect(await isValidated(account)).toBe(false);
});
