/**
 * `npm run admin -- <command>`: commands for operators with access to the machine. They work with and without a running
 * server, on the database of the settings. Each change is one transaction with its audit row, which names the command
 * line as its user.
 *
 * Each command is loaded on demand: a loop over a hundred accounts should not load the modules of an export each time.
 */
import { Command, CommanderError } from "commander";
import type { Config } from "../config.ts";
import { storeFault } from "../db/store-fault.ts";
import { Fault } from "../lib/fault.ts";
import type { Cli } from "./cli.ts";

export const COMMANDS: Readonly<Record<string, () => Promise<(cli: Cli) => Command>>> = {
  status: async () => (await import("./show-status.ts")).statusCommand,
  stop: async () => (await import("./stop-server.ts")).stopCommand,
  settings: async () => (await import("./list-settings.ts")).settingsCommand,
  accounts: async () => (await import("./list-accounts.ts")).accountsCommand,
  "account-create": async () => (await import("./create-account.ts")).accountCreateCommand,
  "account-delete": async () => (await import("./delete-account.ts")).accountDeleteCommand,
  features: async () => (await import("./features.ts")).featuresCommand,
  "feature-set": async () => (await import("./features.ts")).featureSetCommand,
  "account-role": async () => (await import("./set-role.ts")).accountRoleCommand,
  "operator-grant": async () => (await import("./operators.ts")).operatorGrantCommand,
  "operator-revoke": async () => (await import("./operators.ts")).operatorRevokeCommand,
  "break-glass-token": async () => (await import("./break-glass-token.ts")).breakGlassTokenCommand,
  "node-list": async () => (await import("./nodes.ts")).nodeListCommand,
  "node-pause": async () => (await import("./nodes.ts")).nodePauseCommand,
  "node-resume": async () => (await import("./nodes.ts")).nodeResumeCommand,
  "node-drain": async () => (await import("./nodes.ts")).nodeDrainCommand,
  "key-rotate": async () => (await import("./rotate-keys.ts")).keyRotateCommand,
  export: async () => (await import("./export-installation.ts")).exportCommand,
  import: async () => (await import("./import-installation.ts")).importCommand,
};

/** Where commands write. */
export interface Terminal {
  readonly out: (text: string) => void;
  readonly error: (text: string) => void;
}

const ownTerminal: Terminal = {
  out: (text) => void process.stdout.write(text),
  error: (text) => void process.stderr.write(text),
};

/** Returns the exit code. */
export async function runAdmin(
  args: readonly string[],
  loadConfig: () => Promise<Config>,
  { out, error: write }: Terminal = ownTerminal,
): Promise<number> {
  const note = (line: string): void => write(`${line}\n`);
  const cli: Cli = {
    async loadConfig() {
      const config = await loadConfig();
      for (const warning of config.warnings) note(`Warning: ${warning}`);
      return config;
    },
    out,
    note,
  };
  const program = new Command("npm run admin --")
    .description("Operator commands of Headgate. Settings come from the environment and the file of HEADGATE_CONFIG.")
    .showHelpAfterError("(add --help for usage)")
    .configureOutput({ writeOut: out, writeErr: write })
    .exitOverride();
  // Enables the compile cache for the following imports. Help must work with invalid settings; the command itself
  // reports them.
  await loadConfig().catch(() => undefined);
  const [name = ""] = args;
  const asked = Object.hasOwn(COMMANDS, name) ? [COMMANDS[name]] : Object.values(COMMANDS);
  for (const load of asked) {
    if (load !== undefined) program.addCommand((await load())(cli).copyInheritedSettings(program));
  }
  try {
    await program.parseAsync([...args], { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode; // it has written the reason
    note(explain(error));
    return 1;
  }
  return 0;
}

/** The text of a refusal; other errors are defects and are thrown to main. */
function explain(error: unknown): string {
  if (isFileError(error)) return error.message;
  const fault = storeFault(error);
  if (!(fault instanceof Fault)) throw error;
  const { cause } = fault;
  return fault.code === "unavailable" && cause instanceof Error ? `${fault.message} (${cause.message})` : fault.message;
}

const FILE_CALLS = ["open", "write", "rename", "stat", "mkdir", "unlink", "chown", "fchown", "fsync"];

/** For example a missing folder or a full disk: the system's own message contains the path. */
function isFileError(error: unknown): error is Error {
  return error instanceof Error && "syscall" in error && FILE_CALLS.includes(String(error.syscall));
}
