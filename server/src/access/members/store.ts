import type { Queryable, Tx } from "../../db/database.ts";
import { parsedPolicy, type Principal } from "../permission.ts";
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
export interface MemberPrincipal extends Principal {
  membershipId: number;
  email: string;
  state: MemberRow["state"];
  groupIds: ReadonlySet<number>;
}

interface PrincipalRow extends Pick<MemberRow, "id" | "email" | "state"> {
  groupIds: number[];
  groups: string[];
  roleIds: number[];
}

const SELECT_PRINCIPAL = `
  select m.id, u.email, m.state,
         array(select e.group_id from effective_group_member e where e.membership_id = m.id) as "groupIds",
         array(select g.name from effective_group_member e join access_group g on g.id = e.group_id
                where e.membership_id = m.id and g.source = 'system') as groups,
         array(select distinct gr.role_id from effective_group_member e
                 join access_group_role gr on gr.group_id = e.group_id
                where e.membership_id = m.id) as "roleIds"
    from membership m join app_user u on u.id = m.user_id`;

export async function findPrincipal(reader: Queryable, { id, name }: Reference): Promise<MemberPrincipal | undefined> {
  const rows = await reader.query<PrincipalRow>(
    `${SELECT_PRINCIPAL}
      where m.id = coalesce($1::bigint, (select found.membership_id from member_with_email($2) found))`,
    [id, name],
  );
  const [principal] = await principalsOf(reader, rows);
  return principal;
}

/** The members of `listMembersPage`. */
export async function listPrincipalsPage(reader: Queryable, limit: number, offset: number): Promise<MemberPrincipal[]> {
  const rows = await reader.query<PrincipalRow>(`${SELECT_PRINCIPAL} where ${ON_PAGE} order by m.id`, [limit, offset]);
  return principalsOf(reader, rows);
}

/** Each policy is read once, because many members have the same roles and a policy can have a megabyte. */
async function principalsOf(reader: Queryable, rows: readonly PrincipalRow[]): Promise<MemberPrincipal[]> {
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

export interface NewMember {
  accountId: number;
  email: string;
  /** The name of a user who is new to the installation; an existing one keeps theirs. */
  name: string;
  state: "pending" | "active";
  userType: "regular" | "service";
  isOperator?: boolean;
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
       insert into membership (account_id, user_id, name, state, user_type, is_operator)
       select $3, id, $2, $4, $5, $8 from found_user
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
      member.isOperator ?? false,
    ],
  );
  return row;
}

export async function setMemberState(tx: Tx, id: number, state: "active" | "disabled"): Promise<void> {
  await tx.query("update membership set state = $2 where id = $1", [id, state]);
}

/** False if the account has no such member. */
export async function setOperator(tx: Tx, accountId: number, email: string, isOperator: boolean): Promise<boolean> {
  const rows = await tx.query(
    `update membership m set is_operator = $3 from app_user u
      where u.id = m.user_id and m.account_id = $1 and lower(u.email) = lower($2) returning m.id`,
    [accountId, email, isOperator],
  );
  return rows.length > 0;
}

/** Locks the users of an account, so that none of them joins another account meanwhile. */
export async function lockUsersOf(tx: Tx, accountId: number): Promise<number[]> {
  const rows = await tx.query<{ id: number }>(
    `select u.id from app_user u join membership m on m.user_id = u.id
      where m.account_id = $1 order by u.id for update of u`,
    [accountId],
  );
  return rows.map(({ id }) => id);
}

export async function deleteUsersWithoutAccount(tx: Tx, userIds: readonly number[]): Promise<void> {
  await tx.query(
    `delete from app_user u where u.id = any ($1) and not exists (select from membership m where m.user_id = u.id)`,
    [userIds],
  );
}
