import { insertBuiltInGroups } from "../access/groups/store.ts";
import { mintToken, tokenSha256 } from "../access/token.ts";
import type { Tx } from "../db/database.ts";
import type { Feature } from "../lib/features.ts";
import { insertAccount, insertFounder, type NewAccount } from "./store/founding.ts";

/** The input for a new account, created by the API, the first start or the operator. */
export interface Founding {
  account: NewAccount;
  founder: { email: string; name: string; isOperator: boolean };
  features: readonly Feature[];
  furnish: Furnish;
}

/** Adds the defaults of other slices to a new account. Passed in, because those slices depend on this one. */
export type Furnish = (tx: Tx, accountId: number) => Promise<void>;

export interface FoundedAccount {
  accountId: number;
  userId: number;
  groups: string[];
  token: string;
}

/** Creates an account with its built-in groups, and its creator as the first system-admin, with a token. */
export async function foundAccount(tx: Tx, founding: Founding, token = mintToken()): Promise<FoundedAccount> {
  const accountId = await insertAccount(tx, founding.account, founding.features);
  const groups = await insertBuiltInGroups(tx, accountId);
  const adminGroupId = groups.get("system-admin");
  if (adminGroupId === undefined) throw new Error("a new account has no system-admin group");
  const userId = await insertFounder(tx, {
    accountId,
    adminGroupId,
    tokenSha256: tokenSha256(token),
    ...founding.founder,
  });
  await founding.furnish(tx, accountId);
  return { accountId, userId, groups: ["system-admin", "everyone"], token };
}
