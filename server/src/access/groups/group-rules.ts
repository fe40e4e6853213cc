import { Fault, invalid } from "../../lib/fault.ts";
import type { RoleRow } from "../roles/store.ts";
import type { GroupRow } from "./store.ts";

/**
 * What may not be done to a group, whoever asks. The built-in groups are words of the permission table (§5): they keep
 * their name and the role of their name, and are never deleted; `everyone` holds every active member by definition.
 */
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
    throw invalid("members", "of the group everyone cannot be changed: it holds every active member");
  }
  if (overlap(members, removedMembers))
    throw invalid("removed_members", "must not name anybody that members names too");
  if (overlap(roles.map(idOf), removedRoles.map(idOf))) {
    throw invalid("removed_roles", "must not name a role that roles names too");
  }
  if (
    group.source === "system" &&
    removedRoles.some(({ source, name }) => source === "system" && name === group.name)
  ) {
    throw invalid("roles", `of the built-in group ${group.name} must keep its own role`);
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

/** Every request asks for its caller's groups: see roles/account-limits.ts. */
const MAX_GROUPS = 5000;

export function checkGroupCount(groups: number): void {
  if (groups > MAX_GROUPS)
    throw invalid("name", `must not be that of one group more than the ${MAX_GROUPS} of an account`);
}

export function groupNameTaken(name: string): Fault {
  return new Fault("conflict", `The account has a group named ${name} already.`);
}
