import { Fault, invalid } from "../../lib/fault.ts";
import type { RoleRow } from "./store.ts";

/**
 * The built-in roles belong to the groups of the permission table (§5): their name and policy cannot be changed. To get
 * a role with another policy, duplicate it.
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
  return new Fault("conflict", `The account already has a role named ${name}.`);
}
