import { Command } from "commander";
import { setOperator } from "../access/members/store.ts";
import { Fault } from "../lib/fault.ts";
import type { Cli } from "./cli.ts";
import { printable } from "./format-table.ts";
import { requireFirstAccount, withSession } from "./session.ts";
import { listOperators, sendAudit } from "./store.ts";

/** Only these commands set the operator flag, and only on members of the first account. */
export function operatorGrantCommand(cli: Cli): Command {
  return operatorCommand(cli, "operator-grant", "make a member of the first account an operator", true);
}

export function operatorRevokeCommand(cli: Cli): Command {
  return operatorCommand(cli, "operator-revoke", "remove the operator flag", false);
}

function operatorCommand(cli: Cli, name: string, description: string, isOperator: boolean): Command {
  return new Command(name)
    .description(description)
    .argument("<email>", "a member of the first account")
    .action((email: string) =>
      withSession(cli, async (session) => {
        const firstId = await requireFirstAccount(session);
        await session.db.asSystem(async (tx) => {
          if (!(await setOperator(tx, firstId, email, isOperator))) {
            throw new Fault(
              "not-found",
              `${email} is not a member of the first account (${firstId}): only its members can be operators.`,
            );
          }
          sendAudit(tx, firstId, name.replace("-", "_"), `user/${email}`);
        });
        const operators = await listOperators(session.db.system);
        cli.out(`Operators: ${printable(operators.join(", ")) || "none; add one with operator-grant"}\n`);
      }),
    );
}
