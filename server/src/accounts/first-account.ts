import { mintToken } from "../access/token.ts";
import type { Database } from "../db/database.ts";
import type { Feature } from "../lib/features.ts";
import { createAccountWithAdmin, type AddAccountDefaults } from "./create-account-with-admin.ts";
import { lockAndHasAccounts } from "./store/new-account.ts";

export interface FirstAccount {
  email: string;
  token: string;
}

/**
 * Creates the operator's account on a first start. The token is written to its file before the account is committed:
 * after a crash in between there is a file to overwrite, never an account with an unknown token.
 */
export async function ensureFirstAccount(
  db: Database,
  email: string,
  features: readonly Feature[],
  addDefaults: AddAccountDefaults,
  keepToken: (token: string) => void,
): Promise<FirstAccount | undefined> {
  return db.asSystem(async (tx) => {
    if (await lockAndHasAccounts(tx)) return undefined;
    const token = mintToken();
    await createAccountWithAdmin(
      tx,
      {
        account: { name: "Headgate", parentId: null, plan: "free" },
        admin: { email, name: "Operator", isOperator: true },
        // The whitelist of a new account is empty, so enforcing it would lock out the operator.
        features: features.filter((feature) => feature !== "ip_whitelisting"),
        addDefaults,
      },
      token,
    );
    keepToken(token); // not before, so that a refused e-mail address leaves no file behind
    return { email, token };
  });
}
