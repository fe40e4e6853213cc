import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { pino } from "pino";
import { expect, test } from "vitest";
import { urlOf } from "../test/support/admin-cli.ts";
import { testConfig, useServer } from "../test/support/given.ts";
import { cloneDatabase } from "../test/support/test-database.ts";
import { startApp } from "./app.ts";
import { newKey, writeKeys } from "./lib/key-file.ts";

const given = useServer();

test("a start that finds its port taken leaves no connection behind", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "headgate-app-"));
  const database = await cloneDatabase();
  const { connection } = database;
  const watcher = new Client({ ...connection, application_name: "watcher" });
  await watcher.connect();
  try {
    const settings = { HEADGATE_PORT: new URL(given.base).port, DATABASE_URL: urlOf(database) };
    const config = testConfig(dataDir, settings);
    writeKeys(config.keyFile, [newKey([])]);
    await expect(startApp({ config, connection, log: pino({ level: "silent" }) })).rejects.toThrow("EADDRINUSE");
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
    await database.drop();
    rmSync(dataDir, { recursive: true, force: true });
  }
});
