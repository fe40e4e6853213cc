import type { Reference } from "../../access/reference.ts";
import type { Queryable, Tx } from "../../db/database.ts";

export interface PendingUserRow {
  id: number;
  user_id: number;
  email: string;
  name: string;
  created_at: Date;
}

export async function listPendingUsers(reader: Queryable): Promise<PendingUserRow[]> {
  return reader.query(
    `select m.id, m.user_id, u.email, m.name, m.created_at
       from membership m join app_user u on u.id = m.user_id where m.state = 'pending' order by m.id`,
  );
}

export async function listUserEmails(reader: Queryable): Promise<{ email: string }[]> {
  return reader.query(
    `select u.email from membership m join app_user u on u.id = m.user_id where m.state <> 'pending' order by m.id`,
  );
}

/** The facts that decide whether one member may act on another. */
export interface TargetRow {
  id: number;
  email: string;
  state: "pending" | "active" | "disabled";
  is_operator: boolean;
  is_admin: boolean;
  /** The policies of the roles of the member's groups. */
  policies: string[] | null;
}

const SELECT_TARGET = `
  select m.id, u.email, m.state, m.is_operator,
         exists (select from access_group_member gm join access_group g on g.id = gm.group_id
                  where gm.membership_id = m.id and g.name = 'system-admin') as is_admin,
         (select array_agg(r.policy) from effective_group_member e
            join access_group_role gr on gr.group_id = e.group_id
            join access_role r on r.id = gr.role_id
           where e.membership_id = m.id) as policies
    from membership m join app_user u on u.id = m.user_id`;

export async function findTarget(tx: Tx, { id, name: email }: Reference): Promise<TargetRow | undefined> {
  const [row] =
    email === null
      ? await tx.query<TargetRow>(`${SELECT_TARGET} where m.id = $1`, [id])
      : await tx.query<TargetRow>(`${SELECT_TARGET} where lower(u.email) = lower($1)`, [email]);
  return row;
}

/**
 * The members with these e-mail addresses or in these groups. They are locked in order, so that of two concurrent token
 * resets the second replaces the token of the first.
 */
export async function findAndLockTargets(
  tx: Tx,
  emails: readonly string[],
  groupIds: readonly number[],
): Promise<TargetRow[]> {
  return tx.query(
    `${SELECT_TARGET}
      where lower(u.email) = any (select lower(e) from unnest($1::text[]) e)
         or m.id in (select membership_id from effective_group_member where group_id = any ($2))
      order by m.id for no key update of m`,
    [emails, groupIds],
  );
}
