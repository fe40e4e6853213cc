import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client as PostgresClient } from "pg";
import { expect, test } from "vitest";
import { useServer } from "./support/given.ts";
import { submitProgram } from "./support/programs.ts";
import { stubDriver } from "./support/stub-driver.ts";
import { waitForCommandEnd } from "./support/wait-for-command-end.ts";

/** A database that reads but does not write, as after a failover to a standby or by the guard of a managed service. */
const given = useServer({ driver: stubDriver, settings: { HEADGATE_LEASE_SECONDS: "10" } }); // beats twice a second
const PATIENCE = { timeout: 30_000 };

/** The sessions that are open now are ended. Later ones are read-only, and stay so until the server closes them. */
async function makeReadOnly(): Promise<void> {
  await asOwner(
    `alter database ${given.database.connection.database} set default_transaction_read_only = on`,
    `select pg_terminate_backend(pid, 60000) from pg_stat_activity
      where datname = current_database() and usename = current_user and pid <> pg_backend_pid()`,
  );
}

async function makeWritable(): Promise<void> {
  await asOwner(`alter database ${given.database.connection.database} reset default_transaction_read_only`);
}

async function asOwner(...statements: string[]): Promise<void> {
  const client = new PostgresClient({ ...given.database.connection, options: "-c default_transaction_read_only=off" });
  await client.connect();
  try {
    for (const sql of statements) await client.query(sql);
  } finally {
    await client.end();
  }
}

const readyz = async (): Promise<{ status: number; text: string }> => given.anonymous().get("/api/../readyz").reply();

test("a read-only database is an outage for changes and for the queue, and no command is lost by it", async () => {
  const account = await given.account();
  const gate = join(given.dataDir, "accounts", String(account.accountId), "storage/gate");
  const run = 'echo "$COMMAND" >> $JOURNAL; ';
  const running = await submitProgram(account, `${run} while [ ! -e ${gate} ]; do sleep 0.05; done; cat $JOURNAL`);
  await expect.poll(async () => (await account.get(`/commands/${running}`)).status, PATIENCE).toBe("running");
  await expect.poll(async () => (await account.get(`/commands/${running}`)).pid, PATIENCE).not.toBeNull();
  await makeReadOnly();

  const changes = await Promise.all([
    account.post("/commands", { command_type: "SparkCommand", language: "python", program: "true" }).reply(),
    account.post("/api/v2/folders", { name: "new", type: "notes" }).reply(),
    account.put(`/commands/${running}`, { status: "kill" }).reply(),
    account.put("/api/v2/accounts", { account: { name: "Other" } }).reply(),
    account.post("/groups", { name: "one" }).reply(),
  ]);
  for (const { status, headers, text } of changes) {
    expect(text).toMatch(/The database is (read-only|not responding)/); // sessions that were ended do not respond
    expect([status, headers.get("retry-after")]).toEqual([503, "2"]);
  }
  await account.post("/api/v2/folders", { name: "new", type: "notes" }).refused(503, /read-only/);
  await expect.poll(readyz, PATIENCE).toMatchObject({
    status: 503,
    text: expect.stringContaining("the last heartbeat could not be written"),
  });
  expect(await account.get(`/commands/${running}`)).toMatchObject({ status: "running" });
  writeFileSync(gate, ""); // it ends while its end cannot be stored

  await makeWritable();
  expect(await waitForCommandEnd(account, running)).toMatchObject({ status: "done" });
  expect(await account.get(`/commands/${running}/results`)).toMatchObject({ results: `${running}\n` });
  await expect.poll(readyz, PATIENCE).toMatchObject({ status: 200 });
  await expect
    .poll(async () => (await account.post("/api/v2/folders", { name: "new", type: "notes" }).reply()).status, PATIENCE)
    .toBe(200);
  expect((await account.get("/commands")).commands).toHaveLength(1);
});
