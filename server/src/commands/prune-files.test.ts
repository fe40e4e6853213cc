import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { pino } from "pino";
import { expect, test } from "vitest";
import { useServer, type AccountClient } from "../../test/support/given.ts";
import { DAY_MS } from "../lib/clock.ts";
import { commandFiles } from "./execution/command-files.ts";
import { filePruner, type FileRetention } from "./prune-files.ts";

const given = useServer();

const MIB = 1024 * 1024;
const NOW = new Date("2030-06-30T12:00:00Z");
const RETENTION: FileRetention = { resultsDays: 10, logsDays: 20, sizeBytes: 1000 * MIB };

/** A command that ended the given days before NOW, with a result, a log and an event log of 1 MiB each. */
async function ended(account: AccountClient, daysAgo: number): Promise<number> {
  const { id } = await account.post("/commands", {
    command_type: "SparkCommand",
    language: "python",
    program: "true",
  });
  await given.app.services.db.system.query(
    "update command set status = 'done', attempt = 1, end_time = $2 where id = $1",
    [id, new Date(NOW.getTime() - daysAgo * DAY_MS)],
  );
  const { output, log, eventLog, eventLogFolder } = filesOf(account, id);
  mkdirSync(eventLogFolder, { recursive: true });
  for (const path of [output, log, eventLog]) writeFileSync(path, Buffer.alloc(MIB, "x"));
  return id;
}

const filesOf = (account: AccountClient, id: number) => commandFiles(given.dataDir, account.accountId, id).attempt(1);

function kept(account: AccountClient, id: number): { result: boolean; log: boolean; events: boolean } {
  const { output, log, eventLog } = filesOf(account, id);
  return { result: existsSync(output), log: existsSync(log), events: existsSync(eventLog) };
}

const keeper = (retention: FileRetention, now: () => Date = () => NOW) =>
  filePruner(
    { db: given.app.services.db, clock: { now }, dataDir: given.dataDir, log: pino({ level: "silent" }) },
    retention,
  );

test("results, logs and event logs are removed after their retention days", async () => {
  const account = await given.account();
  const [old, middle, young] = [await ended(account, 21), await ended(account, 11), await ended(account, 9)];
  let now = NOW;
  const keep = keeper(RETENTION, () => now);
  await keep();
  expect(kept(account, old)).toEqual({ result: false, log: false, events: false });
  expect(existsSync(commandFiles(given.dataDir, account.accountId, old).folder)).toBe(false);
  expect(kept(account, middle)).toEqual({ result: false, log: true, events: true });
  expect(kept(account, young)).toEqual({ result: true, log: true, events: true });
  now = new Date(NOW.getTime() + 10 * DAY_MS);
  await keep();
  expect(kept(account, middle)).toEqual({ result: false, log: false, events: false });
  expect(kept(account, young)).toEqual({ result: false, log: true, events: true });
  await account
    .get(`/commands/${young}/results`)
    .refused(422, /^results of this command have been removed from the server/);
  await account.get(`/commands/${middle}/logs`).refused(422, /^logs of this command have been removed from the server/);
  await account
    .get(`/commands/${middle}/error_logs`)
    .refused(422, /^logs of this command have been removed from the server/);
  await given.app.services.db.system.query("delete from command");
});

test("above the size limit, the commands that ended first lose their files", async () => {
  const [one, other] = [await given.account(), await given.account()];
  const [second, first, third] = [await ended(one, 3), await ended(other, 4), await ended(one, 2)];
  const keep = keeper({ ...RETENTION, sizeBytes: 4 * MIB });
  await keep();
  expect([kept(other, first).log, kept(one, second).log, kept(one, third).log]).toEqual([false, false, true]);
  const fourth = await ended(other, 1);
  await keep();
  expect([kept(one, third).log, kept(other, fourth).log]).toEqual([false, true]);
  await keep();
  expect(kept(other, fourth)).toEqual({ result: true, log: true, events: true });
  await given.app.services.db.system.query("delete from command");
});

test("files that could not be removed cost newer ones only what the limit demands, and are removed first later", async () => {
  const [one, other] = [await given.account(), await given.account()];
  const oldest = [await ended(one, 5), await ended(one, 4)] as const;
  const keep = keeper({ ...RETENTION, sizeBytes: 7 * MIB });
  await keep();
  const commands = dirname(commandFiles(given.dataDir, one.accountId, oldest[0]).folder);
  renameSync(commands, `${commands}-away`);
  writeFileSync(commands, ""); // a file where the folder should be: nothing below can be removed
  const second = await ended(other, 3);
  await keep();
  expect(kept(other, second).log).toBe(false);
  rmSync(commands);
  renameSync(`${commands}-away`, commands);
  const third = await ended(other, 2);
  await keep();
  expect([kept(one, oldest[0]).log, kept(one, oldest[1]).log, kept(other, third).log]).toEqual([false, true, true]);
  await given.app.services.db.system.query("delete from command");
});

test("a command that has not ended keeps its files, however large they are", async () => {
  const account = await given.account();
  const id = await ended(account, 100);
  await given.app.services.db.system.query("update command set status = 'waiting', end_time = null where id = $1", [
    id,
  ]);
  await keeper({ ...RETENTION, sizeBytes: 1 })();
  expect(kept(account, id)).toEqual({ result: true, log: true, events: true });
});
