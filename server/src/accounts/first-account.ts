import { mintToken } from "../access/token.ts";
import type { Database } from "../db/database.ts";
import type { Feature } from "../lib/features.ts";
import { foundAccount, type Furnish } from "./found-account.ts";
import { lockAndHasAccounts } from "./store/founding.ts";

export interface FirstAccount {
  email: string;
  token: string;
}

/**
 * On a first start: the operator's account. The token reaches its file before the account is committed, so that a
 * crash in between leaves a file to be overwritten, never an account whose token nobody knows.
 */
export async function ensureFirstAccount(
  db: Database,
  email: string,
  features: readonly Feature[],
  furnish: Furnish,
  keepToken: (token: string) => void,
): Promise<FirstAccount | undefined> {
  return db.asSystem(async (tx) => {
    if (await lockAndHasAccounts(tx)) return undefined;
    const token = mintToken();
    keepToken(token);
    await foundAccount(
      tx,
      {
        account: { name: "Headgate", parentId: null, plan: "free" },
        founder: { email, name: "Operator", isOperator: true },
        // Nobody has an address yet that a whitelist could hold.
        features: features.filter((feature) => feature !== "ip_whitelisting"),
        furnish,
      },
      token,
    );
    return { email, token };
  });
}
