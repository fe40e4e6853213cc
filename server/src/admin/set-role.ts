import { Command } from "commander";
import { setAccountRole } from "../accounts/set-account-role.ts";
import { Fault } from "../lib/fault.ts";
import { parseId } from "./arguments.ts";
import type { Cli } from "./cli.ts";
import { requireAccount, withSession } from "./session.ts";
import { sendAudit } from "./store.ts";

interface Options {
  roleArn?: string;
  externalId?: string;
  clear?: true;
}

/** §4.12: role-based credentials cannot be set through the API. */
export function accountRoleCommand(cli: Cli): Command {
  return new Command("account-role")
    .description("set or remove the role-based credentials of an account")
    .argument("<account>", "the account's id", parseId)
    .option("--role-arn <arn>", "the role to assume")
    .option("--external-id <id>", "the external id that the role requires")
    .option("--clear", "use no role")
    .action((accountId: number, { roleArn, externalId, clear }: Options) => {
      const given = roleArn !== undefined || externalId !== undefined;
      if (clear === true ? given : roleArn === undefined || externalId === undefined) {
        throw new Fault("invalid", "Give both --role-arn and --external-id, or --clear alone.");
      }
      return withSession(cli, async (session) => {
        await requireAccount(session, accountId);
        await session.db.asSystem(async (tx) => {
          await setAccountRole(tx, accountId, roleArn ?? null, externalId ?? null);
          sendAudit(tx, accountId, "account_role_set", roleArn === undefined ? "role/none" : `role/${roleArn}`);
        });
        cli.out(`Account ${accountId} uses ${roleArn === undefined ? "no role" : roleArn}.\n`);
      });
    });
}
