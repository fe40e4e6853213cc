import type { Queryable, Tx } from "../../db/database.ts";

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

export async function deleteInvitationsBefore(system: Queryable, before: Date, limit: number): Promise<number> {
  const rows = await system.query(
    `delete from invitation where id in (select id from invitation where expires_at < $1 limit $2) returning 1`,
    [before, limit],
  );
  return rows.length;
}
