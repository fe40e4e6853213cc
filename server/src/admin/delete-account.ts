import { join } from "node:path";
import { Command } from "commander";
import { endMetastores } from "../catalog/metastores/open-metastores.ts";
import { endStandbys } from "../commands/programs/standby-driver.ts";
import { endServers } from "../commands/warm-servers/server-record.ts";
import { deleteAccount } from "../accounts/delete-account.ts";
import { Fault } from "../lib/fault.ts";
import { removeTree } from "../processes/tree-removal/remove-tree.ts";
import { parseId } from "./arguments.ts";
import { printable } from "./format-table.ts";
import type { Cli } from "./cli.ts";
import { promptLine, isTerminal } from "./prompt.ts";
import { metastoreDatabases } from "./metastore-databases.ts";
import { requireAccount, requireFirstAccount, withSession, type Session } from "./session.ts";
import { sendAudit } from "./store.ts";

export function accountDeleteCommand(cli: Cli): Command {
  return new Command("account-delete")
    .description("delete an account with everything that belongs to it, its files included")
    .argument("<account>", "the account's id", parseId)
    .option("--yes", "do not ask for confirmation")
    .action((accountId: number, { yes }: { yes?: true }) =>
      withSession(cli, async (session) => {
        const { db, config } = session;
        const firstId = await requireFirstAccount(session);
        const { name, members } = await requireAccount(session, accountId);
        if (accountId !== firstId && yes !== true) await confirm(accountId, name, members);
        await db.asSystem(async (tx) => {
          await deleteAccount(tx, accountId);
          // The account's own audit rows are deleted with it.
          sendAudit(tx, firstId, "account_delete", `account/${accountId}`);
        });
        await endProcesses(cli, session, accountId);
        await dropCatalog(cli, session, accountId);
        await removeFiles(cli, join(config.dataDir, "accounts", String(accountId)));
        cli.out(`Account ${accountId} is deleted.\n`);
      }),
    );
}

/**
 * Runs before the folders are deleted, because processes are found by their folders. Those on other machines are ended
 * by the servers there.
 */
async function endProcesses(cli: Cli, { config: { dataDir } }: Session, accountId: number): Promise<void> {
  try {
    await endStandbys(dataDir, accountId);
    await endServers(dataDir, accountId);
    await endMetastores(dataDir, accountId);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    cli.note(`Some processes of the account could not be ended (${why}).`);
  }
}

/** The account is already deleted. Its programs may still run and write for a while. */
async function removeFiles(cli: Cli, folder: string): Promise<void> {
  try {
    await removeTree(folder);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    cli.note(`Some files are left (${why}). When the programs of the account have ended, remove ${folder} yourself.`);
  }
}

/** The account is already deleted: if its database cannot be dropped, the server finds and drops it later. */
async function dropCatalog(cli: Cli, { store }: Session, accountId: number): Promise<void> {
  try {
    await metastoreDatabases(store).drop(accountId);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    cli.note(`The database of its tables could not be dropped (${why}); the server drops it later.`);
  }
}

async function confirm(accountId: number, name: string, members: number): Promise<void> {
  if (!isTerminal()) {
    throw new Fault("invalid", "Deleting an account cannot be undone: add --yes to confirm without a terminal.");
  }
  const answer = await promptLine(
    `Account ${accountId} (${printable(name)}, ${members} users) and all of its data will be gone. Type its id to delete it: `,
  );
  if (answer.trim() !== String(accountId)) throw new Fault("invalid", "Not confirmed: nothing was deleted.");
}
