import packageJson from "../../package.json" with { type: "json" };
import { statfs } from "node:fs/promises";
import { existsSync } from "node:fs";
import { Command } from "commander";
import { listNodes } from "../commands/store/nodes.ts";
import { findDataDirHolder } from "../db/embedded/data-dir-lock.ts";
import { migrationState } from "../db/migrate.ts";
import { readKeys } from "../lib/key-ring.ts";
import { findRunningServer } from "../running-server.ts";
import { askReadiness } from "./ask-readiness.ts";
import { jsonOption } from "./arguments.ts";
import { printObject, type Cli, type OutputOptions } from "./cli.ts";
import { withSession } from "./session.ts";
import { readCounts } from "./store.ts";

export function statusCommand(cli: Cli): Command {
  return new Command("status")
    .description("tell whether the server runs and at which address, where the data is and how much of it there is")
    .addOption(jsonOption())
    .action(async (options: OutputOptions) => {
      // Read before the database is opened: from then on this process may hold the data directory itself.
      const { dataDir } = await cli.loadConfig();
      const holder = findDataDirHolder(dataDir);
      const running = findRunningServer(dataDir, holder);
      const detailOf = await askReadiness(running?.url);
      await withSession(cli, async ({ config, store, db }) => {
        const counts = await readCounts(db.system);
        const { applied, known } = await migrationState(db.system);
        printObject(cli, options, {
          version: packageJson.version,
          server: serverState(running !== undefined, holder !== undefined, counts.connections > 0),
          pid: running?.pid ?? null,
          address: running?.url ?? null,
          spark: detailOf("spark"),
          python: detailOf("python"),
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

/** The data directory is also held by a server that starts or stops, and by commands such as `admin export`. */
function serverState(isReady: boolean, isHeld: boolean, hasConnections: boolean): string {
  if (isReady) return "running";
  if (isHeld) return "not ready, or another command uses the data directory";
  return hasConnections ? "runs elsewhere" : "stopped";
}

async function freePercent(path: string): Promise<number | null> {
  if (!existsSync(path)) return null;
  const { bavail, blocks } = await statfs(path);
  return blocks === 0 ? null : Math.round((bavail / blocks) * 100);
}
