import type { Queryable, Tx } from "../../db/database.ts";
import { isUniqueViolation } from "../../db/store-fault.ts";
import type { Page } from "../../http/paging.ts";
import { BUILT_IN_ROLES, BUILT_IN_GROUPS, type BuiltInGroup } from "../permission.ts";
import type { Reference, References } from "../reference.ts";

export interface GroupRow {
  id: number;
  name: string;
  source: "system" | "custom";
  created_at: Date;
}

/** The built-in groups of a new account, each with the role of its name. */
export async function insertBuiltInGroups(tx: Tx, accountId: number): Promise<Map<BuiltInGroup, number>> {
  const rows = await tx.query<{ name: BuiltInGroup; id: number }>(
    `with built_in as (select * from unnest($2::text[], $3::text[]) as b (name, policy)),
          new_group as (insert into access_group (account_id, name, source)
                        select $1, name, 'system' from built_in returning id, name),
          new_role as (insert into access_role (account_id, name, source, policy)
                       select $1, name, 'system', policy from built_in returning id, name),
          link as (insert into access_group_role (account_id, group_id, role_id)
                   select $1, g.id, r.id from new_group g join new_role r using (name))
     select name, id from new_group`,
    [accountId, [...BUILT_IN_GROUPS], BUILT_IN_GROUPS.map((name) => JSON.stringify(BUILT_IN_ROLES[name]))],
  );
  return new Map(rows.map(({ name, id }) => [name, id]));
}

export async function listGroups(reader: Queryable, { limit, offset }: Page): Promise<GroupRow[]> {
  return reader.query("select id, name, source, created_at from access_group order by name limit $1 offset $2", [
    limit,
    offset,
  ]);
}

export async function listGroupsOfRole(
  reader: Queryable,
  roleId: number,
  { limit, offset }: Page,
): Promise<GroupRow[]> {
  return reader.query(
    `select g.id, g.name, g.source, g.created_at
       from access_group_role gr join access_group g on g.id = gr.group_id
      where gr.role_id = $1 order by g.name limit $2 offset $3`,
    [roleId, limit, offset],
  );
}

export async function findGroup(reader: Queryable, { id, name }: Reference): Promise<GroupRow | undefined> {
  const [row] = await reader.query<GroupRow>(
    "select id, name, source, created_at from access_group where id = $1 or name = $2",
    [id, name],
  );
  return row;
}

/** Serialises changes of a group, including its deletion. */
export async function lockGroup(tx: Tx, id: number): Promise<GroupRow | undefined> {
  const [row] = await tx.query<GroupRow>(
    "select id, name, source, created_at from access_group where id = $1 for no key update",
    [id],
  );
  return row;
}

export async function countGroups(tx: Tx): Promise<number> {
  const [row] = await tx.query<{ groups: number }>("select count(*) as groups from access_group");
  return row?.groups ?? 0;
}

/** Undefined: the name is taken. */
export async function insertGroup(tx: Tx, name: string): Promise<GroupRow | undefined> {
  const [row] = await tx.query<GroupRow>(
    `insert into access_group (name) values ($1)
     on conflict on constraint access_group_name do nothing returning id, name, source, created_at`,
    [name],
  );
  return row;
}

/** Creates a group with the current members and roles of the original. Undefined: the name is taken. */
export async function copyGroup(tx: Tx, originalId: number, name: string): Promise<GroupRow | undefined> {
  const [row] = await tx.query<GroupRow>(
    `with copy as (insert into access_group (name) values ($2)
                   on conflict on constraint access_group_name do nothing returning id, name, source, created_at),
          copied_member as (insert into access_group_member (group_id, membership_id)
                            select copy.id, e.membership_id from copy, effective_group_member e where e.group_id = $1),
          copied_role as (insert into access_group_role (group_id, role_id)
                          select copy.id, r.id
                            from copy, access_group_role gr join access_role r on r.id = gr.role_id
                           where gr.group_id = $1 for share of r)
     select id, name, source, created_at from copy`,
    [originalId, name],
  );
  return row;
}

/** Undefined: the name is taken. */
export async function renameGroup(tx: Tx, id: number, name: string): Promise<GroupRow | undefined> {
  try {
    const [row] = await tx.query<GroupRow>(
      "update access_group set name = $2 where id = $1 returning id, name, source, created_at",
      [id, name],
    );
    return row;
  } catch (error) {
    if (isUniqueViolation(error, "access_group_name")) return undefined;
    throw error;
  }
}

export async function deleteGroup(tx: Tx, id: number): Promise<void> {
  await tx.query("delete from access_group where id = $1", [id]);
}

export interface NamedMember {
  id: number;
  /** The e-mail address in the request; a member that is named twice has two rows. */
  named_by: string | null;
}

/** Finds members of any state by id or e-mail address. Locks them until the transaction ends, so that none is deleted. */
export async function holdMembers(db: Queryable, { ids, names }: References): Promise<NamedMember[]> {
  return db.query(
    `select m.id, given.email as named_by
       from membership m
       join app_user u on u.id = m.user_id
       left join unnest($2::text[]) as given (email) on lower(given.email) = lower(u.email)
      where m.id in (select id from membership where id = any ($1)
                     union all
                     select named.id from membership named join app_user nu on nu.id = named.user_id
                      where lower(nu.email) in (select lower(e) from unnest($2::text[]) e))
      order by m.id for key share of m`,
    [ids, names],
  );
}

export async function insertGroupMembers(tx: Tx, groupId: number, membershipIds: readonly number[]): Promise<void> {
  await tx.query(
    `insert into access_group_member (group_id, membership_id) select $1, unnest($2::bigint[]) on conflict do nothing`,
    [groupId, membershipIds],
  );
}

export async function deleteGroupMembers(tx: Tx, groupId: number, membershipIds: readonly number[]): Promise<void> {
  await tx.query("delete from access_group_member where group_id = $1 and membership_id = any ($2)", [
    groupId,
    membershipIds,
  ]);
}

export async function insertGroupRoles(tx: Tx, groupId: number, roleIds: readonly number[]): Promise<void> {
  await tx.query(
    `insert into access_group_role (group_id, role_id) select $1, unnest($2::bigint[]) on conflict do nothing`,
    [groupId, roleIds],
  );
}

export async function deleteGroupRoles(tx: Tx, groupId: number, roleIds: readonly number[]): Promise<void> {
  await tx.query("delete from access_group_role where group_id = $1 and role_id = any ($2)", [groupId, roleIds]);
}
