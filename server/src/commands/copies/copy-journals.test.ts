import { existsSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { useServer, type AccountClient } from "../../../test/support/given.ts";
import { copyEnd, printReport, stubCopyProgram, submitCopy } from "../../../test/support/stub-copy.ts";
import { waitForCommandEnd } from "../../../test/support/wait-for-command-end.ts";
import type { CopyRequest } from "../../engines/s3-copy/copy-request.ts";
import { openRunnerClient } from "../../processes/runner/runner-client.ts";
import { JournalError } from "../../engines/s3-copy/journal-line.ts";
import { DAY_MS } from "../../lib/clock.ts";
import { commandFiles } from "../execution/command-files.ts";
import { allKinds } from "../kinds/all-kinds.ts";
import { CopyJournals } from "./copy-journals.ts";

const PATIENCE = { timeout: 45_000 };
const cleaned: CopyRequest[] = [];
let failure: Error | undefined;
let untilHeld: (request: CopyRequest) => Promise<void> = () => Promise.resolve();
let journals: CopyJournals | undefined;
let reason: string | null = null;
let now = Date.now();

/** Settles all journals after the longest pause between two tries. */
async function settleLater(): Promise<void> {
  now += 300_000;
  await journals?.settleAll();
}

const given = useServer({
  commandKinds: (parts) => {
    const cleanUp = async (request: CopyRequest): Promise<number> => {
      cleaned.push(request);
      await untilHeld(request);
      if (failure !== undefined) throw failure;
      return 1;
    };
    // It has its own list, because the server's periodic task would clean up the default one too.
    const listFolder = join(parts.copies.dataDir, "test-copies");
    journals = new CopyJournals({ ...parts.copies, listFolder, cleanUp, now: () => now, random: () => 1 });
    const program = { ...stubCopyProgram, unready: () => reason };
    return allKinds({ ...parts, copies: { ...parts.copies, program, journals } });
  },
});

beforeEach(() => {
  cleaned.length = 0;
  failure = undefined;
  untilHeld = () => Promise.resolve();
});

const journalOf = (account: AccountClient, id: number): string =>
  join(commandFiles(given.dataDir, account.accountId, id).folder, "copy");

test("after the last attempt, a failed copy is cleaned up with the account's keys and the command's arguments", async () => {
  const account = await given.account();
  const keys = { storage_access_key: "AKIAACCESSOFACCOUNT0", storage_secret_key: "secret-of-account" };
  await account.put("/api/v2/accounts", { account: keys });
  const id = await submitCopy(account, "exit 1", { retry: 1, retry_delay: 0 });
  expect(await waitForCommandEnd(account, id)).toMatchObject({ status: "error" });
  const path = journalOf(account, id);
  await expect.poll(() => existsSync(path), PATIENCE).toBe(false);
  const credentials = { accessKeyId: "AKIAACCESSOFACCOUNT0", secretAccessKey: "secret-of-account" };
  expect(cleaned).toMatchObject([{ journalFolder: path, account: { s3: { credentials } } }]);
  expect(cleaned[0]?.words[0]).toBe("--stub");
});

test("after a successful copy, the journal is removed without a clean-up", async () => {
  const account = await given.account();
  const id = await submitCopy(account, printReport(copyEnd()));
  expect(await waitForCommandEnd(account, id)).toMatchObject({ status: "done" });
  await expect.poll(() => existsSync(journalOf(account, id)), PATIENCE).toBe(false);
  expect(cleaned).toEqual([]);
});

/** A copy whose clean-up has failed once. */
async function leftCopy(account: AccountClient): Promise<{ journal: string; entry: string }> {
  failure = new Error("the store does not answer");
  const before = cleaned.length;
  const id = await submitCopy(account, "exit 1");
  await expect.poll(() => cleaned.length, PATIENCE).toBe(before + 1);
  const entry = join(given.dataDir, "test-copies", `${account.accountId}-${id}`);
  await expect.poll(() => readFileSync(entry, "utf8"), PATIENCE).not.toBe("");
  return { journal: journalOf(account, id), entry };
}

test("a clean-up that fails is repeated, and the journal stays until then", async () => {
  const { journal } = await leftCopy(await given.account());
  await settleLater();
  expect(cleaned).toHaveLength(2);
  expect(existsSync(journal)).toBe(true);
  failure = undefined;
  await settleLater();
  expect(existsSync(journal)).toBe(false);
});

test("a clean-up that keeps failing is repeated less and less often", async () => {
  await leftCopy(await given.account());
  const tries: number[] = [];
  for (let seconds = 5; seconds <= 80; seconds += 5) {
    now += 5000;
    cleaned.length = 0;
    await journals?.settleAll();
    if (cleaned.length > 0) tries.push(seconds);
  }
  expect(tries).toEqual([10, 30, 70]);
  failure = undefined;
  await settleLater();
});

test("a clean-up is given up a day after it has failed for the first time, however long ago the copy began", async () => {
  const { journal, entry } = await leftCopy(await given.account());
  const longAgo = new Date(now - 3 * DAY_MS);
  utimesSync(entry, longAgo, longAgo);
  now += DAY_MS;
  await journals?.settleAll();
  expect(existsSync(journal)).toBe(true);
  await settleLater();
  expect(existsSync(journal)).toBe(false);
  expect(existsSync(entry)).toBe(false);
});

test("a clean-up is not repeated if the journal is unreadable", async () => {
  const account = await given.account();
  failure = new JournalError("not a journal");
  const id = await submitCopy(account, "exit 1");
  await expect.poll(() => cleaned.length, PATIENCE).toBe(1);
  await expect.poll(() => existsSync(journalOf(account, id)), PATIENCE).toBe(false);
});

test("a store that does not answer delays no other account", async () => {
  const [slow, other] = [await leftCopy(await given.account()), await leftCopy(await given.account())];
  failure = undefined;
  const answer = Promise.withResolvers<void>();
  untilHeld = ({ journalFolder }) => (journalFolder === slow.journal ? answer.promise : Promise.resolve());
  const settled = settleLater();
  await expect.poll(() => existsSync(other.journal), PATIENCE).toBe(false);
  expect(existsSync(slow.journal)).toBe(true);
  answer.resolve();
  await settled;
  expect(existsSync(slow.journal)).toBe(false);
});

test("an account whose clean-ups fail gets only a few tries per round, first for the journals not tried yet", async () => {
  const account = await given.account();
  const left: string[] = [];
  for (let at = 0; at < 4; at += 1) left.push((await leftCopy(account)).journal);
  cleaned.length = 0;
  await settleLater();
  expect(cleaned).toHaveLength(3);
  await settleLater();
  expect(new Set(cleaned.map(({ journalFolder }) => journalFolder))).toEqual(new Set(left));
  failure = undefined;
  await settleLater();
  expect(left.filter((journal) => existsSync(journal))).toEqual([]);
});

test("the journal of a copy that is cancelled between two attempts is removed", async () => {
  const account = await given.account();
  const id = await submitCopy(account, "exit 1", { retry: 1, retry_delay: 5 });
  const ended = "select from command_attempt where command_id = $1 and ended_at is not null";
  await expect.poll(() => given.app.services.db.system.query(ended, [id]), PATIENCE).toHaveLength(1);
  const journal = journalOf(account, id);
  expect(existsSync(journal)).toBe(true);
  await account.put(`/commands/${id}`);
  await expect.poll(() => journals?.settleAll().then(() => existsSync(journal)), PATIENCE).toBe(false);
});

test("a copy that another node has ended is cleaned up only when its process here has ended", async () => {
  const account = await given.account();
  const mayEnd = join(given.dataDir, "the-copy-may-end");
  const id = await submitCopy(account, `until [ -e ${mayEnd} ]; do sleep 0.05; done; exit 1`);
  const path = journalOf(account, id);
  const isRunning = async (): Promise<boolean> => {
    const { folder } = commandFiles(given.dataDir, account.accountId, id).attempt(1);
    return (await openRunnerClient(folder).observe()).state === "running";
  };
  await expect.poll(isRunning, PATIENCE).toBe(true);
  await given.app.services.db.system.query(
    "update command set status = 'error', end_time = now(), attempt = 2, fence = fence + 1, node_id = null where id = $1",
    [id],
  );
  await settleLater();
  // Journals that earlier tests have left are cleaned up in the same round.
  const cleanUps = (): unknown[] => cleaned.filter(({ journalFolder }) => journalFolder === path);
  expect({ cleaned: cleanUps(), isThere: existsSync(path) }).toEqual({ cleaned: [], isThere: true });
  writeFileSync(mayEnd, "");
  await expect.poll(async () => (await settleLater(), existsSync(path)), PATIENCE).toBe(false);
  expect(cleanUps()).toHaveLength(1);
});

test("the journal of a command that was deleted with its account is removed", async () => {
  const account = await given.account();
  const gone = { id: 999_999, accountId: account.accountId };
  await journals?.open(gone, true);
  const path = journalOf(account, gone.id);
  writeFileSync(join(path, "journal.jsonl"), "");
  await journals?.settleAll();
  expect(existsSync(path)).toBe(false);
  expect(cleaned.filter(({ journalFolder }) => journalFolder === path)).toEqual([]);
});

test("a copy waits, and says why, while its program is not set up", async () => {
  const account = await given.account();
  reason = "the copy program cannot be set up: there is no space";
  const id = await submitCopy(account, printReport(copyEnd()));
  await expect.poll(() => account.get(`/commands/${id}`), PATIENCE).toMatchObject({ waiting_reason: reason });
  reason = null;
  expect(await waitForCommandEnd(account, id)).toMatchObject({ status: "done" });
});
