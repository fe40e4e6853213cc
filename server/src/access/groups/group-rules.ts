/**
 * Rules for changes of groups, for every caller. The built-in groups are part of the permission table (§5): their name
 * and the role of the same name cannot be changed, and they cannot be deleted. `everyone` contains every active member
 * by definition.
 */
import { Fault, invalid } from "../../lib/fault.ts";
import type { RoleRow } from "../roles/store.ts";
import type { GroupRow } from "./store.ts";

export interface GroupEdit {
  members: readonly number[];
  removedMembers: readonly number[];
  roles: readonly RoleRow[];
  removedRoles: readonly RoleRow[];
}

/** An edit of one kind leaves the others empty. */
export const NO_EDIT: GroupEdit = { members: [], removedMembers: [], roles: [], removedRoles: [] };

export function checkGroupEdit(group: GroupRow, { members, removedMembers, roles, removedRoles }: GroupEdit): void {
  if (group.name === "everyone" && members.length + removedMembers.length > 0) {
    throw invalid("members", "of the group everyone cannot be changed: it contains every active member");
  }
  if (overlap(members, removedMembers))
    throw invalid("removed_members", "must not contain a user that is also in members");
  if (overlap(roles.map(idOf), removedRoles.map(idOf))) {
    throw invalid("removed_roles", "must not contain a role that is also in roles");
  }
  if (
    group.source === "system" &&
    removedRoles.some(({ source, name }) => source === "system" && name === group.name)
  ) {
    throw invalid("roles", `of the built-in group ${group.name} must include the role ${group.name}`);
  }
}

function overlap(some: readonly number[], others: readonly number[]): boolean {
  const ids = new Set(others);
  return some.some((id) => ids.has(id));
}

function idOf({ id }: { id: number }): number {
  return id;
}

export function checkGroupRename(group: GroupRow, name: string): void {
  if (group.source === "system" && name !== group.name) {
    throw invalid("name", `of the built-in group ${group.name} cannot be changed`);
  }
}

export function checkGroupDelete(group: GroupRow): void {
  if (group.source === "system") throw invalid("group_id", `must not be the built-in group ${group.name}`);
}

/** Every request loads its caller's groups: see roles/role-rules.ts. */
const MAX_GROUPS = 5000;

export function checkGroupCount(groups: number): void {
  if (groups > MAX_GROUPS) throw invalid("name", `cannot be added: an account can have at most ${MAX_GROUPS} groups`);
}

export function groupNameTaken(name: string): Fault {
  return new Fault("conflict", `The account already has a group named ${name}.`);
}
