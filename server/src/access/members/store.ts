import type { Queryable, Tx } from "../../db/database.ts";
import { parsedPolicy, type Standing } from "../permission.ts";
import type { Reference } from "../reference.ts";

/** A membership with its user and groups, as shown in every list of users; read in one statement. */
export interface MemberRow {
  id: number;
  user_id: number;
  account_id: number;
  email: string;
  name: string;
  state: "pending" | "active" | "disabled";
  user_type: "regular" | "service";
  last_login: Date | null;
  created_at: Date;
  groups: { id: number; name: string; source: "system" | "custom" }[] | null;
}

const SELECT_MEMBER = `
  select m.id, m.user_id, m.account_id, u.email, m.name, m.state, m.user_type, m.last_login, m.created_at,
         (select json_agg(json_build_object('id', g.id, 'name', g.name, 'source', g.source) order by g.id)
            from effective_group_member e join access_group g on g.id = e.group_id
           where e.membership_id = m.id) as groups
    from membership m join app_user u on u.id = m.user_id`;

/** Active and disabled users of the account. Pending users have their own list. */
export async function listMembers(reader: Queryable): Promise<MemberRow[]> {
  return reader.query(`${SELECT_MEMBER} where m.state <> 'pending' order by m.id`);
}

const ON_PAGE = "m.id in (select id from membership where state <> 'pending' order by id limit $1 offset $2)";

export async function listMembersPage(reader: Queryable, limit: number, offset: number): Promise<MemberRow[]> {
  return reader.query(`${SELECT_MEMBER} where ${ON_PAGE} order by m.id`, [limit, offset]);
}

/** The users in a group; `everyone` contains all active ones. */
export async function listMembersOfGroup(reader: Queryable, groupId: number): Promise<MemberRow[]> {
  return reader.query(
    `${SELECT_MEMBER}
      where m.state <> 'pending' and m.id in (select membership_id from effective_group_member where group_id = $1)
      order by m.id`,
    [groupId],
  );
}

/** Everything about a member that decisions about access need. */
export interface MemberStanding extends Standing {
  membershipId: number;
  email: string;
  state: MemberRow["state"];
  groupIds: ReadonlySet<number>;
}

interface StandingRow extends Pick<MemberRow, "id" | "email" | "state"> {
  groupIds: number[];
  groups: string[];
  roleIds: number[];
}

const SELECT_STANDING = `
  select m.id, u.email, m.state,
         array(select e.group_id from effective_group_member e where e.membership_id = m.id) as "groupIds",
         array(select g.name from effective_group_member e join access_group g on g.id = e.group_id
                where e.membership_id = m.id and g.source = 'system') as groups,
         array(select distinct gr.role_id from effective_group_member e
                 join access_group_role gr on gr.group_id = e.group_id
                where e.membership_id = m.id) as "roleIds"
    from membership m join app_user u on u.id = m.user_id`;

export async function findStanding(reader: Queryable, { id, name }: Reference): Promise<MemberStanding | undefined> {
  const rows = await reader.query<StandingRow>(
    `${SELECT_STANDING}
      where m.id = coalesce($1::bigint, (select found.membership_id from member_with_email($2) found))`,
    [id, name],
  );
  const [standing] = await standingsOf(reader, rows);
  return standing;
}

/** The members of `listMembersPage`. */
export async function listStandingsPage(reader: Queryable, limit: number, offset: number): Promise<MemberStanding[]> {
  const rows = await reader.query<StandingRow>(`${SELECT_STANDING} where ${ON_PAGE} order by m.id`, [limit, offset]);
  return standingsOf(reader, rows);
}

/** Each policy is read once, because many members have the same roles and a policy can have a megabyte. */
async function standingsOf(reader: Queryable, rows: readonly StandingRow[]): Promise<MemberStanding[]> {
  const roles = await reader.query<{ id: number; policy: string }>(
    "select id, policy from access_role where id = any ($1)",
    [[...new Set(rows.flatMap(({ roleIds }) => roleIds))]],
  );
  const statements = new Map(roles.map(({ id, policy }) => [id, parsedPolicy(policy)]));
  return rows.map(({ id, email, state, groups, groupIds, roleIds }) => ({
    membershipId: id,
    email,
    state,
    groups: new Set(groups),
    groupIds: new Set(groupIds),
    statements: roleIds.flatMap((role) => statements.get(role) ?? []),
  }));
}

/**
 * Must be called before a change that may leave the account without a system-admin: of two concurrent changes, the
 * second then sees the first. It is a separate statement, because a statement that waits for a lock reads the state
 * from before the wait.
 */
export function lockAdmins(tx: Tx, accountId: number): void {
  tx.send("select from account where id = $1 for no key update", [accountId]);
}

/** Whether the account still has an active admin. Call under `lockAdmins`, after the change. */
export async function hasActiveAdmin(tx: Tx): Promise<boolean> {
  const [row] = await tx.query<{ there: boolean }>(
    `select exists (select from access_group g
                      join access_group_member gm on gm.group_id = g.id
                      join membership m on m.id = gm.membership_id
                     where g.name = 'system-admin' and m.state = 'active') as there`,
  );
  return row?.there ?? false;
}
