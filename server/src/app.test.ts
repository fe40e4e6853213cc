import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { urlOf } from "../test/support/admin-cli.ts";
import { testConfig, useServer } from "../test/support/given.ts";
import { cloneDatabase, type TestDatabase } from "../test/support/test-database.ts";
import { startApp } from "./app.ts";
import type { Config } from "./config.ts";
import type { ListeningSocket } from "./http/listen.ts";
import { newKey, writeKeys } from "./lib/key-ring.ts";

const given = useServer();
const log = pino({ level: "silent" });

let dataDir: string;
let database: TestDatabase;

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "headgate-app-"));
  database = await cloneDatabase();
});

afterEach(async () => {
  await database.drop();
  rmSync(dataDir, { recursive: true, force: true });
});

function configOf(settings: Record<string, string>): Config {
  const config = testConfig(dataDir, { DATABASE_URL: urlOf(database), ...settings });
  writeKeys(config.keyFile, [newKey([])]);
  return config;
}

/** Registers the node as if it had run before: a new node announces its address five seconds after its start. */
async function registerNode(): Promise<void> {
  const id = randomUUID();
  writeFileSync(join(dataDir, "node-id"), id);
  const client = new Client(database.connection);
  await client.connect();
  await client.query(
    "insert into node (id, host, boot_id, memory_budget_mib, version) values ($1, 'before', '', 1000, '1')",
    [id],
  );
  await client.end();
}

test("a start that finds its port taken leaves no open connection", async () => {
  const { connection } = database;
  const watcher = new Client({ ...connection, application_name: "watcher" });
  await watcher.connect();
  try {
    const config = configOf({ HEADGATE_PORT: new URL(given.base).port });
    await expect(startApp({ config, connection, log })).rejects.toThrow("EADDRINUSE");
    await expect
      .poll(async () => {
        const { rows } = await watcher.query(
          `select application_name from pg_stat_activity
           where datname = current_database() and pid <> pg_backend_pid()`,
        );
        return rows;
      })
      .toEqual([]);
  } finally {
    await watcher.end();
  }
});

test("inherited sockets decide its address, for clients and for other nodes", async () => {
  const opened = createServer().listen(0, "127.0.0.1");
  await once(opened, "listening");
  const url = `http://127.0.0.1:${(opened.address() as AddressInfo).port}`; // it listens on TCP
  const { _handle: socket } = opened as unknown as { _handle: ListeningSocket }; // the only way to get the descriptor
  const config = configOf({ HEADGATE_HOST: "10.9.8.7" });
  await registerNode();
  const app = await startApp({ config, connection: database.connection, log, sockets: [socket] });
  try {
    expect(app).toMatchObject({ url, socketUrls: [url] });
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    const addresses = () => app.services.db.system.query("select address from node");
    await expect.poll(addresses, { timeout: 45_000 }).toEqual([{ address: url }]);
  } finally {
    await app.stop();
  }
});
