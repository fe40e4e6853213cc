/**
 * The built-in roles belong to the groups of the permission table (§5): their name and policy cannot be changed. To get
 * a role with another policy, duplicate it.
 */
import { Fault, invalid } from "../../lib/fault.ts";
import type { Tx } from "../../db/database.ts";
import { measureRoles, type RoleRow } from "./store.ts";

export interface RoleEdit {
  name: string;
  policy: string;
}

export function checkRoleEdit(role: RoleRow, edit: RoleEdit): void {
  if (role.source !== "system") return;
  if (edit.name !== role.name) throw invalid("name", `of the built-in role ${role.name} cannot be changed`);
  if (edit.policy !== role.policy) throw invalid("policies", `of the built-in role ${role.name} cannot be changed`);
}

export function checkRoleDelete(role: RoleRow): void {
  if (role.source === "system") throw invalid("role_id", `must not be the built-in role ${role.name}`);
}

export function roleNameTaken(name: string): Fault {
  return new Fault("conflict", `The account already has a role named ${name}.`);
}

/**
 * Every request reads the policies of its caller's roles, so unlimited policies of one account would slow down the
 * whole installation. Checked after the change, in its transaction.
 */
const MAX_ROLES = 1000;
const MAX_POLICY_BYTES = 1024 * 1024;

export async function checkRolesOfAccount(tx: Tx): Promise<void> {
  const { bytes, roles } = await measureRoles(tx);
  if (roles > MAX_ROLES) throw invalid("name", `cannot be added: an account can have at most ${MAX_ROLES} roles`);
  if (bytes > MAX_POLICY_BYTES) {
    throw invalid("policies", `of all roles of an account can have at most ${MAX_POLICY_BYTES} bytes in total`);
  }
}
