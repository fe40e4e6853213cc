import { Command } from "commander";
import { settingTexts } from "../config/setting-texts.ts";
import { findDataDirHolder } from "../db/embedded/data-dir-lock.ts";
import { findRunningServer } from "../running-server.ts";
import { jsonOption } from "./arguments.ts";
import { printList, type Cli, type OutputOptions } from "./cli.ts";

/** Needs no database, so that operators can also inspect a configuration that does not start. */
export function settingsCommand(cli: Cli): Command {
  return new Command("settings")
    .description(
      "show every setting of the running server with its value (- if not set) and its default; without a server, show " +
        "what a start would use",
    )
    .addOption(jsonOption())
    .action(async (options: OutputOptions) => {
      const config = await cli.loadConfig();
      const holder = findDataDirHolder(config.dataDir);
      const server = findRunningServer(config.dataDir, holder);
      cli.note(
        server === undefined
          ? `${whyUnknown(config.dataDir, holder)} These are the settings that a start from this shell would use.`
          : `These are the settings of the running server (pid ${server.pid}, ${server.url}).`,
      );
      const rows = (server?.settings ?? settingTexts({ ...config })).map((setting) => ({ ...setting }));
      printList(cli, options, rows, ["name", "value", "default"]);
    });
}

function whyUnknown(dataDir: string, holder: string | undefined): string {
  if (holder === undefined) return `No server runs on ${dataDir}.`;
  return `A process (pid ${holder}) uses ${dataDir}, but no server is ready there yet.`;
}
