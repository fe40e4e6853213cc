import { randomBytes } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { findSparkHome, SET_UP_MS } from "../../../test/support/connect-server.ts";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { AccountClient } from "../../../test/support/given.ts";
import { startNode, type NodeProcess } from "../../../test/support/node-process.ts";
import { foundSparkAccount } from "../../../test/support/spark-server.ts";
import { cloneDatabase, type TestDatabase } from "../../../test/support/test-database.ts";
import { newKey, writeKeys } from "../../lib/key-ring.ts";

describe.skipIf(sparkIsMissing)("on a PostgreSQL where Headgate's user may not create databases", () => {
  const dataDir = mkdtempSync(join(tmpdir(), "headgate-rights-"));
  const login = `guest_${randomBytes(4).toString("hex")}`;
  const email = "rights@example.test";
  let database: TestDatabase;
  let node: NodeProcess;
  let account: AccountClient;

  beforeAll(async () => {
    chmodSync(dataDir, 0o711);
    const { cacheDir } = inject("postgres");
    await findSparkHome(cacheDir);
    database = await cloneDatabase();
    const { port, database: name } = database.connection;
    await asOwner(`create role ${login} login password 'guest' createrole in role headgate_account`);
    await asOwner(`grant ${login} to current_user; grant all on schema public to ${login}; ${giveTables}`);
    await asOwner(`grant connect on database ${name} to ${login}`);
    writeKeys(join(dataDir, "keys"), [newKey([])]);
    const { accountId, token } = await foundSparkAccount(database.connection, email);
    const url = `postgres://${login}:guest@127.0.0.1:${port}/${name}`;
    const settings = { HEADGATE_CACHE_DIR: cacheDir, DATABASE_URL: url, TEST_SPARK: "1" };
    node = await startNode(dataDir, { connectionString: url }, settings);
    account = new AccountClient(node.url, token, accountId, email);
  }, SET_UP_MS);

  afterAll(async () => {
    await node.stopEverything();
    await database.drop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const giveTables = `do $$ declare name text; begin
    for name in select format('%I', relname) from pg_class
                where relnamespace = 'public'::regnamespace and relkind = 'r' loop
      execute 'alter table ' || name || ' owner to ${login}';
    end loop; end $$`;

  async function asOwner(sql: string): Promise<void> {
    const client = new Client(database.connection);
    await client.connect();
    try {
      await client.query(sql);
    } finally {
      await client.end();
    }
  }

  it.each([{ language: "python", program: "print(1)" }, { sql: "select 1" }])(
    "a command ends with an error that names the missing right (%j)",
    async (work) => {
      const { id } = await account.post("/commands", { command_type: "SparkCommand", ...work });
      const { status } = await account.get(`/commands/${id}?wait_seconds=45`);
      const { error_log: log } = await account.get(`/commands/${id}/error_logs`);
      expect(status, log).toBe("error");
      expect(log).toContain(`may not create databases. Run as a superuser: alter role "${login}" createdb;`);
    },
  );
});
