import type { Queryable, Tx } from "../../db/database.ts";
import { isUniqueViolation } from "../../db/store-fault.ts";
import type { Page } from "../../http/paging.ts";
import type { Reference, References } from "../reference.ts";

export interface RoleRow {
  id: number;
  account_id: number;
  name: string;
  source: "system" | "custom";
  policy: string;
}

export async function listRoles(reader: Queryable, { limit, offset }: Page): Promise<RoleRow[]> {
  return reader.query("select id, account_id, name, source, policy from access_role order by name limit $1 offset $2", [
    limit,
    offset,
  ]);
}

export async function listRolesOfGroup(reader: Queryable, groupId: number): Promise<RoleRow[]> {
  return reader.query(
    `select r.id, r.account_id, r.name, r.source, r.policy
       from access_group_role gr join access_role r on r.id = gr.role_id
      where gr.group_id = $1 order by r.name`,
    [groupId],
  );
}

export async function findRole(reader: Queryable, { id, name }: Reference): Promise<RoleRow | undefined> {
  const [row] = await reader.query<RoleRow>(
    "select id, account_id, name, source, policy from access_role where id = $1 or name = $2",
    [id, name],
  );
  return row;
}

export async function lockRole(tx: Tx, id: number): Promise<RoleRow | undefined> {
  const [row] = await tx.query<RoleRow>(
    "select id, account_id, name, source, policy from access_role where id = $1 for no key update",
    [id],
  );
  return row;
}

/** Locks a role that is about to be assigned; see `holdRoles`. */
export async function holdRole(tx: Tx, { id, name }: Reference): Promise<RoleRow | undefined> {
  const [role] = await holdRoles(tx, { ids: id === null ? [] : [id], names: name === null ? [] : [name] });
  return role;
}

/**
 * Locks roles that are about to be assigned until the transaction ends, so that none is deleted or changed meanwhile.
 */
export async function holdRoles(db: Queryable, { ids, names }: References): Promise<RoleRow[]> {
  return db.query(
    `select id, account_id, name, source, policy from access_role
      where id = any ($1) or name = any ($2) order by id for share`,
    [ids, names],
  );
}

/** The total length of the account's policies, and the number of its roles. */
export async function measureRoles(tx: Tx): Promise<{ bytes: number; roles: number }> {
  const [row] = await tx.query<{ bytes: number; roles: number }>(
    "select coalesce(sum(octet_length(policy)), 0)::bigint as bytes, count(*) as roles from access_role",
  );
  return row ?? { bytes: 0, roles: 0 };
}

/** Undefined: the name is taken. */
export async function insertRole(tx: Tx, name: string, policy: string): Promise<RoleRow | undefined> {
  const [row] = await tx.query<RoleRow>(
    `insert into access_role (name, policy) values ($1, $2)
     on conflict on constraint access_role_name do nothing returning id, account_id, name, source, policy`,
    [name, policy],
  );
  return row;
}

/** Undefined: the name is taken. */
export async function updateRole(tx: Tx, id: number, name: string, policy: string): Promise<RoleRow | undefined> {
  try {
    const [row] = await tx.query<RoleRow>(
      "update access_role set name = $2, policy = $3 where id = $1 returning id, account_id, name, source, policy",
      [id, name, policy],
    );
    return row;
  } catch (error) {
    if (isUniqueViolation(error, "access_role_name")) return undefined;
    throw error;
  }
}

export async function deleteRole(tx: Tx, id: number): Promise<void> {
  await tx.query("delete from access_role where id = $1", [id]);
}
