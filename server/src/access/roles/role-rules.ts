import { Fault, invalid } from "../../lib/fault.ts";
import type { RoleRow } from "./store.ts";

/**
 * The built-in roles stand behind the groups of the permission table (§5): they keep their name and their policy. Who
 * wants another policy duplicates the role.
 */
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
  return new Fault("conflict", `The account has a role named ${name} already.`);
}
