import { Command } from "commander";
import type { Config } from "../config.ts";
import { shareText } from "../config/parse-value.ts";
import { describeDefault } from "../config/setting.ts";
import { settings } from "../config/settings.ts";
import { Secret } from "../lib/secret.ts";
import { jsonOption } from "./arguments.ts";
import { printList, type Cli, type OutputOptions } from "./cli.ts";

/** Needs no database, so that operators can also inspect a configuration that does not start. */
export function settingsCommand(cli: Cli): Command {
  return new Command("settings")
    .description("show every setting with its current value and its default")
    .addOption(jsonOption())
    .action(async (options: OutputOptions) => {
      const config: Readonly<Partial<Record<string, Config[keyof Config]>>> = { ...(await cli.loadConfig()) };
      const rows = Object.entries(settings).map(([key, setting]) => ({
        name: setting.name,
        value: shown(config[key]),
        default: describeDefault(setting),
      }));
      printList(cli, options, rows, ["name", "value", "default"]);
    });
}

function shown(value: Config[keyof Config] | undefined): string | null {
  if (value === null || value === undefined) return null;
  if (value instanceof Secret) return value.toString();
  if (typeof value === "object" && ("percent" in value || "miB" in value)) return shareText(value);
  if (typeof value === "object") {
    const list = "join" in value ? value : [...value].map(([name, text]) => `${name}=${text}`);
    return list.length === 0 ? "none" : list.join(",");
  }
  return String(value);
}
