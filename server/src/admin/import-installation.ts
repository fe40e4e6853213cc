import { resolve } from "node:path";
import { Command } from "commander";
import { firstAccountId } from "../accounts/store/operator.ts";
import { importedCatalogs } from "../catalog/metastores/export-catalogs.ts";
import type { Config } from "../config.ts";
import { openDatabase } from "../db/database.ts";
import { operatorWork } from "../db/work-limits.ts";
import { findDataDirHolder, lockDataDir } from "../db/embedded/data-dir-lock.ts";
import { loadExport } from "../db/export/load-export.ts";
import { verifyExport } from "../db/export/verify-export.ts";
import { readMigrations } from "../db/migrate.ts";
import { openStore, type Store } from "../db/open-store.ts";
import { Fault } from "../lib/fault.ts";
import { KeyRing } from "../lib/key-ring.ts";
import { openLog } from "../open-log.ts";
import { jsonOption } from "./arguments.ts";
import { printObject, type Cli, type OutputOptions } from "./cli.ts";
import { metastoreDatabases } from "./metastore-databases.ts";
import { getPassphrase } from "./passphrase.ts";
import { sendAudit } from "./store.ts";

interface Options extends OutputOptions {
  passphraseFile?: string;
}

export function importCommand(cli: Cli): Command {
  return new Command("import")
    .description("load an export into an empty installation; the server must be stopped")
    .argument("<file>", "an export")
    .option("--passphrase-file <path>", "read the passphrase from a file (or set HEADGATE_PASSPHRASE)")
    .addOption(jsonOption())
    .action(async (name: string, options: Options) => {
      const config = await cli.loadConfig();
      refuseBesideServer(config.dataDir);
      const file = resolve(name);
      const passphrase = await getPassphrase({
        file: options.passphraseFile,
        setting: config.passphrase,
        isNew: false,
      });
      // The whole file is verified before anything is changed.
      const verified = await verifyExport(file, passphrase, (await readMigrations()).length);
      await withIdleStore(cli, config, async (store) => {
        const { connection } = store;
        const keys = new KeyRing(verified.keys, () => verified.keys);
        const attach = importedCatalogs(metastoreDatabases(store), keys);
        await loadExport(verified, { connection, keyFile: config.keyFile, attach, progress: (line) => cli.note(line) });
        await auditImport(store);
      });
      const { manifest } = verified;
      const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0);
      printObject(cli, options, { from: manifest.createdAt, tables: manifest.tables.length, rows });
      cli.note("Imported. Start the server with: npm start");
    });
}

/** Locks the data directory like the server does, so that no server starts meanwhile. */
async function withIdleStore(cli: Cli, config: Config, work: (store: Store) => Promise<void>): Promise<void> {
  const lock = lockDataDir(config.dataDir);
  try {
    const { log } = openLog({ ...config, logLevel: "warn" });
    const store = await openStore({ ...config, lock, log, progress: (line) => cli.note(line) });
    try {
      await work(store);
    } finally {
      await store.stop();
    }
  } finally {
    lock.release();
  }
}

/** An early check, before the operator types a passphrase; the lock decides later. */
function refuseBesideServer(dataDir: string): void {
  const pid = findDataDirHolder(dataDir);
  if (pid === undefined) return;
  throw new Fault(
    "conflict",
    `A Headgate (pid ${pid}) uses ${dataDir}: stop it first, because an import needs exclusive access.`,
  );
}

async function auditImport({ connection }: Store): Promise<void> {
  const db = openDatabase({ ...connection, application_name: "headgate-admin" }, { work: operatorWork });
  try {
    const accountId = await firstAccountId(db.system);
    if (accountId === undefined) return;
    await db.asSystem(async (tx) => sendAudit(tx, accountId, "installation_import", null));
  } finally {
    await db.close();
  }
}
