import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { lockDataDir } from "../db/embedded/data-dir-lock.ts";
import { migrate } from "../db/migrate.ts";
import { openStore } from "../db/open-store.ts";
import { dumpSchema } from "../db/schema-dump.ts";
import { createJsonLog } from "../lib/log.ts";

/**
 * `npm run generate`: dumps the schema of a temporary database, so that the text depends only on the migrations, never
 * on a data directory or DATABASE_URL.
 */
export async function printSchema({ cacheDir }: { cacheDir: string }): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), "headgate-schema-"));
  chmodSync(dataDir, 0o711); // as root, PostgreSQL runs as another user
  const lock = lockDataDir(dataDir);
  try {
    const options = { lock, cacheDir, databaseUrl: null, log: createJsonLog("warn"), progress: () => undefined };
    const store = await openStore(options);
    try {
      await migrate(store.connection);
      const client = new Client(store.connection);
      await client.connect();
      try {
        process.stdout.write(await dumpSchema(client));
      } finally {
        await client.end();
      }
    } finally {
      await store.stop();
    }
  } finally {
    lock.release();
    rmSync(dataDir, { recursive: true, force: true });
  }
}
