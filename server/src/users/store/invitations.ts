import type { Tx } from "../../db/database.ts";

/** Whether the account has this id or name. */
export async function isAccountNamed(tx: Tx, accountId: number, idOrName: string): Promise<boolean> {
  const rows = await tx.query("select from account where id = $1 and (id::text = $2 or name = $2)", [
    accountId,
    idOrName,
  ]);
  return rows.length > 0;
}

export async function findMemberState(tx: Tx, accountId: number, email: string): Promise<string | undefined> {
  const [row] = await tx.query<{ state: string }>(
    `select m.state from membership m join app_user u on u.id = m.user_id
      where m.account_id = $1 and lower(u.email) = lower($2)`,
    [accountId, email],
  );
  return row?.state;
}

export interface NewInvitation {
  accountId: number;
  email: string;
  codeSha256: Buffer;
  groupIds: readonly number[];
}

/** Replaces an open invitation of the same e-mail address: only the latest code is valid. */
export async function insertInvitation(tx: Tx, invitation: NewInvitation): Promise<number> {
  const { accountId, email, codeSha256, groupIds } = invitation;
  // The second of two concurrent inserts sees the first. A separate statement, because a statement that waits for a
  // lock reads the state from before the wait.
  tx.send("select from account where id = $1 for no key update", [accountId]);
  tx.send("delete from invitation where account_id = $1 and lower(email) = lower($2) and accepted_at is null", [
    accountId,
    email,
  ]);
  const [row] = await tx.query<{ id: number }>(
    `insert into invitation (account_id, email, code_sha256, group_ids, expires_at)
     values ($1, $2, $3, $4, now() + interval '7 days') returning id`,
    [accountId, email, codeSha256, groupIds],
  );
  if (row === undefined) throw new Error("an insert returned no row");
  return row.id;
}

export interface InvitationRow {
  account_id: number;
  email: string;
  group_ids: number[];
}

/** If two concurrent requests have the same code, one gets it. */
export async function takeInvitation(tx: Tx, codeSha256: Buffer): Promise<InvitationRow | undefined> {
  const [row] = await tx.query<InvitationRow>(
    `update invitation set accepted_at = now()
      where code_sha256 = $1 and accepted_at is null and expires_at > now()
      returning account_id, email, group_ids`,
    [codeSha256],
  );
  return row;
}

export interface NewMember {
  accountId: number;
  email: string;
  /** The name of a user who is new to the installation; an existing one keeps theirs. */
  name: string;
  state: "pending" | "active";
  userType: "regular" | "service";
  groupIds: readonly number[];
  tokenSha256: Buffer;
}

export interface NewMemberRow {
  id: number;
  user_id: number;
  email: string;
}

/**
 * Inserts the user (or finds it by e-mail address), the membership, its groups and its token. Undefined if the user is
 * already a member.
 */
export async function insertMember(tx: Tx, member: NewMember): Promise<NewMemberRow | undefined> {
  const [row] = await tx.query<NewMemberRow>(
    `with found_user as (
       insert into app_user (email) values ($1)
       on conflict (lower(email)) do update set email = app_user.email returning id, email),
     new_membership as (
       insert into membership (account_id, user_id, name, state, user_type)
       select $3, id, $2, $4, $5 from found_user
       on conflict on constraint membership_once do nothing returning id, user_id),
     new_groups as (
       insert into access_group_member (account_id, group_id, membership_id)
       select $3, g.id, m.id from new_membership m, access_group g
        where g.account_id = $3 and g.id = any ($6) for key share of g),
     new_token as (
       insert into api_token (account_id, membership_id, sha256) select $3, id, $7 from new_membership)
     select m.id, m.user_id, u.email from new_membership m join found_user u on u.id = m.user_id`,
    [
      member.email,
      member.name,
      member.accountId,
      member.state,
      member.userType,
      [...member.groupIds],
      member.tokenSha256,
    ],
  );
  return row;
}
