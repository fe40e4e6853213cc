import packageJson from "../../package.json" with { type: "json" };
import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { Command } from "commander";
import { exportedCatalogs } from "../catalog/metastores/export-catalogs.ts";
import { writeExport } from "../db/export/write-export.ts";
import { openKeyRing } from "../lib/key-ring.ts";
import { jsonOption } from "./arguments.ts";
import { printObject, type Cli, type OutputOptions } from "./cli.ts";
import { getPassphrase } from "./passphrase.ts";
import { metastoreDatabases } from "./metastore-databases.ts";
import { requireFirstAccount, withSession } from "./session.ts";
import { sendAudit } from "./store.ts";

interface Options extends OutputOptions {
  passphraseFile?: string;
}

/** One format for backups, for moving to another PostgreSQL, and for upgrades of the embedded one. */
export function exportCommand(cli: Cli): Command {
  return new Command("export")
    .description("write the whole installation, including its keys, to a file encrypted with a passphrase")
    .argument("<file>", "the file to write; must not exist yet")
    .option("--passphrase-file <path>", "read the passphrase from a file (or set HEADGATE_PASSPHRASE)")
    .addOption(jsonOption())
    .action(async (name: string, options: Options) => {
      const file = resolve(name);
      const { passphrase: setting } = await cli.loadConfig();
      const passphrase = await getPassphrase({ file: options.passphraseFile, setting, isNew: true });
      await withSession(cli, async (session) => {
        const { config, store, db } = session;
        const accountId = await requireFirstAccount(session);
        const { tables, migration } = await writeExport({
          connection: store.connection,
          file,
          passphrase,
          readKeyFile: () => readFileSync(config.keyFile, "utf8"),
          productVersion: packageJson.version,
          listAttached: (product) =>
            exportedCatalogs(metastoreDatabases(store), product, () => openKeyRing(config.keyFile)),
          now: new Date(),
          progress: (line) => cli.note(line),
        });
        await db.asSystem(async (tx) => sendAudit(tx, accountId, "installation_export", null));
        const rows = tables.reduce((sum, table) => sum + table.rows, 0);
        printObject(cli, options, { file, bytes: statSync(file).size, migration, tables: tables.length, rows });
        cli.note(
          "Without its passphrase the file is worthless: keep it apart from the file. Accounts' own files are not in it.",
        );
      });
    });
}
