import type { Tx } from "../db/database.ts";
import type { Feature } from "../lib/features.ts";

export interface NewAccount {
  name: string;
  parentId: number | null;
  plan: string;
}

export async function insertAccount(tx: Tx, account: NewAccount, features: readonly Feature[]): Promise<number> {
  const [row] = await tx.query<{ id: number }>(
    "insert into account (name, parent_id, plan, features) values ($1, $2, $3, $4) returning id",
    [account.name, account.parentId, account.plan, [...features]],
  );
  if (row === undefined) throw new Error("an insert returned no row");
  return row.id;
}

export interface Founder {
  accountId: number;
  adminGroupId: number;
  email: string;
  name: string;
  isOperator: boolean;
  tokenSha256: Buffer;
}

/** The user (found by e-mail, or made), an active membership, its place among the admins and its token. */
export async function insertFounder(tx: Tx, founder: Founder): Promise<number> {
  const [row] = await tx.query<{ user_id: number }>(
    `with found_user as (
       insert into app_user (email, name) values ($1, $2)
       on conflict (lower(email)) do update set email = app_user.email returning id),
     new_membership as (
       insert into membership (account_id, user_id, state, is_operator)
       select $3, id, 'active', $4 from found_user returning id, user_id),
     new_member as (
       insert into access_group_member (account_id, group_id, membership_id)
       select $3, $5, id from new_membership),
     new_token as (
       insert into api_token (account_id, membership_id, sha256) select $3, id, $6 from new_membership)
     select user_id from new_membership`,
    [founder.email, founder.name, founder.accountId, founder.isOperator, founder.adminGroupId, founder.tokenSha256],
  );
  if (row === undefined) throw new Error("an insert returned no row");
  return row.user_id;
}

/** True once there is any account. Taken with a lock: of two first starts at once, one makes the first account. */
export async function lockAndHasAccounts(tx: Tx): Promise<boolean> {
  await tx.query("lock table account in share row exclusive mode");
  const [row] = await tx.query<{ there: boolean }>("select exists (select from account) as there");
  return row?.there ?? false;
}
