import { Command } from "commander";
import type { Config } from "../config.ts";
import { storeFault } from "../db/store-fault.ts";
import { Fault } from "../lib/fault.ts";
import { breakGlassTokenCommand } from "./break-glass-token.ts";
import type { Cli } from "./cli.ts";
import { accountCreateCommand } from "./create-account.ts";
import { accountDeleteCommand } from "./delete-account.ts";
import { exportCommand } from "./export-installation.ts";
import { featuresCommand, featureSetCommand } from "./features.ts";
import { importCommand } from "./import-installation.ts";
import { accountsCommand } from "./list-accounts.ts";
import { settingsCommand } from "./list-settings.ts";
import { operatorGrantCommand, operatorRevokeCommand } from "./operators.ts";
import { keyRotateCommand } from "./rotate-keys.ts";
import { accountRoleCommand } from "./set-role.ts";
import { statusCommand } from "./show-status.ts";

/**
 * `npm run admin -- <command>`: what only the holder of the machine may do. Commands work beside a running server and
 * without one, on the store that the settings name; each change is one transaction with its audit row, which names
 * nobody but the command line.
 */
const COMMANDS = [
  statusCommand,
  settingsCommand,
  accountsCommand,
  accountCreateCommand,
  accountDeleteCommand,
  featuresCommand,
  featureSetCommand,
  accountRoleCommand,
  operatorGrantCommand,
  operatorRevokeCommand,
  breakGlassTokenCommand,
  keyRotateCommand,
  exportCommand,
  importCommand,
] as const;

export async function runAdmin(args: readonly string[], loadConfig: () => Promise<Config>): Promise<void> {
  const cli: Cli = {
    loadConfig,
    out: (text) => void process.stdout.write(text),
    note: (line) => void process.stderr.write(`${line}\n`),
  };
  const program = new Command("npm run admin --")
    .description("Operator commands of Headgate. Settings come from the environment and the file of HEADGATE_CONFIG.")
    .showHelpAfterError("(add --help for how it is used)");
  for (const command of COMMANDS) program.addCommand(command(cli).copyInheritedSettings(program));
  try {
    await program.parseAsync([...args], { from: "user" });
  } catch (error) {
    cli.note(explain(error));
    process.exitCode = 1;
  }
}

/** A refusal in one line; anything else is a defect and goes to main. */
function explain(error: unknown): string {
  const fault = storeFault(error);
  if (!(fault instanceof Fault)) throw error;
  const { cause } = fault;
  return fault.code === "unavailable" && cause instanceof Error ? `${fault.message} (${cause.message})` : fault.message;
}
