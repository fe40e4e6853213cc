import { insertBuiltInGroups } from "../access/groups/store.ts";
import { insertMember } from "../access/members/store.ts";
import { mintToken, tokenSha256 } from "../access/token.ts";
import type { Tx } from "../db/database.ts";
import { Fault } from "../lib/fault.ts";
import type { Feature } from "../lib/features.ts";
import { insertAccount, isUser, type NewAccount } from "./store/new-account.ts";

/** The input for a new account, created by the API, the first start or the operator. */
export interface NewAccountInput {
  account: NewAccount;
  admin: { email: string; name: string; isOperator: boolean };
  features: readonly Feature[];
  addDefaults: AddAccountDefaults;
}

/** Adds the defaults of other slices to a new account. Passed in, because those slices depend on this one. */
export type AddAccountDefaults = (tx: Tx, accountId: number) => Promise<void>;

export interface CreatedAccount {
  accountId: number;
  userId: number;
  groups: string[];
  token: string;
}

/** Creates an account with its built-in groups, and its creator as the first system-admin, with a token. */
export async function createAccountWithAdmin(
  tx: Tx,
  input: NewAccountInput,
  token = mintToken(),
): Promise<CreatedAccount> {
  const { email } = input.admin;
  if (email.includes("/") && !(await isUser(tx, email))) {
    throw new Fault(
      "invalid",
      `${email} cannot be the e-mail address of a new user, because it contains a slash: choose another ` +
        "(HEADGATE_ADMIN_EMAIL or --email).",
    );
  }
  const accountId = await insertAccount(tx, input.account, input.features);
  const groups = await insertBuiltInGroups(tx, accountId);
  const adminGroupId = groups.get("system-admin");
  if (adminGroupId === undefined) throw new Error("a new account has no system-admin group");
  const admin = await insertMember(tx, {
    ...input.admin,
    accountId,
    state: "active",
    userType: "regular",
    groupIds: [adminGroupId],
    tokenSha256: tokenSha256(token),
  });
  if (admin === undefined) throw new Error("a new account already has a member");
  await input.addDefaults(tx, accountId);
  return { accountId, userId: admin.user_id, groups: ["system-admin", "everyone"], token };
}
