/** PostgreSQL answers, but does not do what it is asked: each of these is an outage, and none loses a command. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client as PostgresClient } from "pg";
import { expect, onTestFinished, test } from "vitest";
import type { Reply } from "./support/client.ts";
import { type AccountClient, useServer } from "./support/given.ts";
import { submitProgram } from "./support/programs.ts";
import { stubDriver } from "./support/stub-driver.ts";
import { waitForCommandEnd } from "./support/wait-for-command-end.ts";

const given = useServer({ driver: stubDriver, settings: { HEADGATE_LEASE_SECONDS: "10" } }); // beats twice a second

const PATIENCE = { timeout: 30_000 };
const database = (): string => given.database.connection.database;

/** A session that the settings of the database do not affect. After the test they are as they were. */
async function openOwner(): Promise<PostgresClient> {
  const options = "-c default_transaction_read_only=off -c lock_timeout=0 -c statement_timeout=0";
  const client = new PostgresClient({ ...given.database.connection, options });
  await client.connect();
  onTestFinished(async () => {
    await restore(client);
    await endSessions(client); // a connection that is still read-only would refuse a request of the next test
    await client.end();
  });
  return client;
}

async function restore(owner: PostgresClient): Promise<void> {
  await owner.query("rollback");
  await owner.query(`alter database ${database()} reset all`);
  await owner.query(`alter database ${database()} connection limit -1`);
}

/** Ends the sessions that are open now; later ones have the new settings of the database. */
async function endSessions(owner: PostgresClient): Promise<void> {
  await owner.query(
    `select pg_terminate_backend(pid, 60000) from pg_stat_activity
      where datname = current_database() and usename = current_user and application_name like 'headgate%'`,
  );
}

const readyz = (): Promise<Reply> => given.anonymous().get("/api/../readyz").reply();
const newFolder = { name: "new", type: "notes" };

/** A program that runs until `end` is called. It writes its id to the journal once for each time that it runs. */
async function startProgram(account: AccountClient): Promise<{ id: number; end: () => void }> {
  const gate = join(given.dataDir, "accounts", String(account.accountId), "storage/gate");
  const loop = `while [ ! -e ${gate} ]; do sleep 0.05; done`;
  const id = await submitProgram(account, `echo "$COMMAND" >> $JOURNAL; ${loop}; cat $JOURNAL`);
  await expect.poll(async () => (await account.get(`/commands/${id}`)).pid, PATIENCE).not.toBeNull();
  return { id, end: () => writeFileSync(gate, "") };
}

/** What the outage may not have changed, and that all goes on without a restart. */
async function expectRecovered(account: AccountClient, id: number): Promise<void> {
  expect(await waitForCommandEnd(account, id)).toMatchObject({ status: "done" });
  expect(await account.get(`/commands/${id}/results`)).toMatchObject({ results: `${id}\n` }); // it ran once
  await expect.poll(async () => (await readyz()).status, PATIENCE).toBe(200);
  const create = async (): Promise<number> => (await account.post("/api/v2/folders", newFolder).reply()).status;
  await expect.poll(create, PATIENCE).toBe(200);
  expect((await account.get("/commands")).commands).toHaveLength(1);
}

function expectOutage(replies: readonly Reply[]): void {
  for (const { status, headers, text } of replies) {
    expect(status, text).toBe(503);
    expect(headers.get("retry-after"), text).toBe("2");
  }
}

test("a read-only database, as after a failover to a standby", async () => {
  const [account, owner] = [await given.account(), await openOwner()];
  const { id, end } = await startProgram(account);
  await owner.query(`alter database ${database()} set default_transaction_read_only = on`);
  await endSessions(owner);
  expectOutage(
    await Promise.all([
      account.post("/commands", { command_type: "SparkCommand", language: "python", program: "true" }).reply(),
      account.post("/api/v2/folders", newFolder).reply(),
      account.put(`/commands/${id}`, { status: "kill" }).reply(),
      account.put("/api/v2/accounts", { account: { name: "Other" } }).reply(),
      account.post("/groups", { name: "one" }).reply(),
    ]),
  );
  await account.post("/api/v2/folders", newFolder).refused(503, /read-only/);
  await expect.poll(readyz, PATIENCE).toMatchObject({
    status: 503,
    text: expect.stringContaining("the last heartbeat could not be written"),
  });
  expect(await account.get(`/commands/${id}`)).toMatchObject({ status: "running" }); // it can still be read
  end(); // its end cannot be stored now
  // The open sessions of the server stay read-only: it has to close them.
  await restore(owner);
  await expectRecovered(account, id);
});

test("a database whose connections are all taken by others", async () => {
  const [account, owner] = [await given.account(), await openOwner()];
  const { id, end } = await startProgram(account);
  await owner.query(`alter database ${database()} connection limit 1`);
  await endSessions(owner);
  expectOutage(
    await Promise.all([
      account.get("/account").reply(),
      account.post("/api/v2/folders", newFolder).reply(),
      account.put(`/commands/${id}`, { status: "kill" }).reply(),
    ]),
  );
  await expect.poll(async () => (await readyz()).status, PATIENCE).toBe(503);
  end();
  await restore(owner);
  await expectRecovered(account, id);
});

test("timeouts that the operator has set for the database", async () => {
  const [account, owner] = [await given.account(), await openOwner()];
  const { id, end } = await startProgram(account);
  for (const name of ["lock_timeout", "statement_timeout"]) {
    await owner.query(`alter database ${database()} set ${name} = '30ms'`);
  }
  await endSessions(owner);
  await owner.query("begin");
  await owner.query("lock table folder, command, node in access exclusive mode"); // another program works there
  expectOutage(
    await Promise.all([
      account.post("/api/v2/folders", newFolder).reply(),
      account.put(`/commands/${id}`, { status: "kill" }).reply(),
    ]),
  );
  await expect.poll(async () => (await readyz()).status, PATIENCE).toBe(503);
  end();
  await restore(owner);
  await expectRecovered(account, id);
});
