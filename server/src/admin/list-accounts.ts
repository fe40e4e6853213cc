import { Command } from "commander";
import { listAccounts, type ListedAccount } from "../accounts/store/operator.ts";
import type { Queryable } from "../db/database.ts";
import { isoSeconds } from "../lib/clock.ts";
import { jsonOption } from "./arguments.ts";
import { printList, type Cli, type OutputOptions } from "./cli.ts";
import { withSession } from "./session.ts";

export function accountsCommand(cli: Cli): Command {
  return new Command("accounts")
    .description("list all accounts")
    .addOption(jsonOption())
    .action((options: OutputOptions) =>
      withSession(cli, async ({ db }) => {
        const rows = (await everyAccount(db.system)).map(({ id, name, plan, members, features, createdAt }) => ({
          id,
          name,
          plan,
          users: members,
          features,
          created: isoSeconds(createdAt),
        }));
        printList(cli, options, rows, ["id", "name", "plan", "users", "features", "created"]);
      }),
    );
}

const BATCH = 1000;

async function everyAccount(system: Queryable): Promise<ListedAccount[]> {
  const all: ListedAccount[] = [];
  for (;;) {
    const page = await listAccounts(system, { limit: BATCH, offset: all.length });
    all.push(...page);
    if (page.length < BATCH) return all;
  }
}
