import { existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { Command } from "commander";
import { createAccountWithAdmin } from "../accounts/create-account-with-admin.ts";
import { addDefaultCluster } from "../clusters/default-cluster.ts";
import { lockAndHasAccounts } from "../accounts/store/new-account.ts";
import type { Feature } from "../lib/features.ts";
import { Fault } from "../lib/fault.ts";
import { newKey, writeKeys } from "../lib/key-ring.ts";
import { jsonOption, parseAccountName, parseEmail, parseFeatures } from "./arguments.ts";
import { printObject, type Cli, type OutputOptions } from "./cli.ts";
import { withSession, type Session } from "./session.ts";
import { sendAudit } from "./store.ts";

interface Options extends OutputOptions {
  name: string;
  email: string;
  features?: readonly Feature[];
}

export function accountCreateCommand(cli: Cli): Command {
  return new Command("account-create")
    .description("create an account and its first system-admin; that of the first account is the operator")
    .requiredOption("--name <name>", "the account's name", parseAccountName)
    .requiredOption("--email <email>", "its first system-admin", parseEmail)
    .option("--features <list>", "features to enable (default: HEADGATE_FEATURES)", parseFeatures)
    .addOption(jsonOption())
    .action((options: Options) =>
      withSession(
        cli,
        async (session) => {
          const created = await createAccount(session, options);
          printObject(cli, options, created);
          cli.note("The token is shown only once.");
        },
        { mayCreate: true },
      ),
    );
}

async function createAccount({ config, db }: Session, options: Options): Promise<Record<string, unknown>> {
  const { name, email, features = config.defaultFeatures } = options;
  if (features.includes("ip_whitelisting")) {
    throw new Fault(
      "invalid",
      "ip_whitelisting cannot be enabled in a new account, because its whitelist is empty: leave it out of --features (or HEADGATE_FEATURES).",
    );
  }
  return db.asSystem(async (tx) => {
    const isFirst = !(await lockAndHasAccounts(tx));
    const { accountId, token } = await createAccountWithAdmin(tx, {
      account: { name, parentId: null, plan: "free" },
      admin: { email, name: email, isOperator: isFirst },
      features,
      addDefaults: addDefaultCluster,
    });
    sendAudit(tx, accountId, "account_create", `account/${accountId}`);
    // A new installation gets its keys with its first account, as on a first start.
    if (isFirst && !existsSync(config.keyFile)) {
      mkdirSync(dirname(config.keyFile), { recursive: true, mode: 0o700 });
      writeKeys(config.keyFile, [newKey([])]);
    }
    return { account_id: accountId, name, email, operator: isFirst, authentication_token: token };
  });
}
