import { statfs } from "node:fs/promises";
import { existsSync } from "node:fs";
import { Command } from "commander";
import { listNodes } from "../commands/store/nodes.ts";
import { findDataDirHolder } from "../db/embedded/data-dir-lock.ts";
import { migrationState } from "../db/migrate.ts";
import { readKeys } from "../lib/key-ring.ts";
import { jsonOption } from "./arguments.ts";
import { printObject, type Cli, type OutputOptions } from "./cli.ts";
import { productVersion } from "./product-version.ts";
import { withSession } from "./session.ts";
import { readCounts } from "./store.ts";

export function statusCommand(cli: Cli): Command {
  return new Command("status")
    .description("tell whether the server runs, where the data is and how much of it there is")
    .addOption(jsonOption())
    .action(async (options: OutputOptions) => {
      // Read before the database is opened: from then on this process may hold the data directory itself.
      const { dataDir } = await cli.loadConfig();
      const pid = findDataDirHolder(dataDir);
      await withSession(cli, async ({ config, store, db }) => {
        const counts = await readCounts(db.system);
        const { applied, known } = await migrationState(db.system);
        printObject(cli, options, {
          version: productVersion(),
          server: pid === undefined ? (counts.connections > 0 ? "runs elsewhere" : "stopped") : "running",
          pid: pid === undefined ? null : Number(pid),
          store: store.kind,
          database: counts.database,
          postgresql: counts.server,
          migration: applied,
          known_migration: known,
          data_dir: config.dataDir,
          key_file: config.keyFile,
          key_ids: existsSync(config.keyFile) ? readKeys(config.keyFile).map(({ id }) => id) : [],
          nodes: (await listNodes(db.system)).map(({ id, host, state }) => `${host} ${id} ${state}`),
          accounts: counts.accounts,
          users: counts.users,
          audit_events: counts.auditEvents,
          database_mb: Math.round(counts.sizeBytes / 1e6),
          disk_free_percent: await freePercent(dataDir),
        });
      });
    });
}

async function freePercent(path: string): Promise<number | null> {
  if (!existsSync(path)) return null;
  const { bavail, blocks } = await statfs(path);
  return blocks === 0 ? null : Math.round((bavail / blocks) * 100);
}
