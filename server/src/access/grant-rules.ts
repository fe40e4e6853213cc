/**
 * Prevents privilege escalation. §5 lets others than admins assign roles and edit groups; without a limit, each of them
 * could become an admin. So callers cannot grant a privilege over groups, roles or users that they lack themselves: not
 * by a role's policy, by assigning a role, by adding members to a group with such a role, or by removing a deny of such
 * a privilege. System-admins may grant anything, and only they can change the group `system-admin`.
 */
import { isPermitted, type RolePermission, type RoleStatement, type Principal } from "./permission.ts";

const PRIVILEGES: readonly RolePermission[] = [
  "group:create",
  "group:update",
  "group:delete",
  "role:create",
  "role:update",
  "role:delete",
  "svc_user:create",
  "svc_user:update",
];

/** The message of the refusal. */
export const GRANT_REFUSAL =
  "You may not do this: it would grant a privilege over groups, roles or users that you do not have yourself.";

export function mayGrant(caller: Principal, statements: readonly RoleStatement[]): boolean {
  if (caller.groups.has("system-admin")) return true;
  return PRIVILEGES.every((privilege) => !grants(statements, privilege) || grants(caller.statements, privilege));
}

/** Whether the caller may remove these statements from a user; `instead` replaces them. */
export function mayRevoke(
  caller: Principal,
  statements: readonly RoleStatement[],
  instead: readonly RoleStatement[] = [],
): boolean {
  if (caller.groups.has("system-admin")) return true;
  return PRIVILEGES.every(
    (privilege) => !denies(statements, privilege) || denies(instead, privilege) || grants(caller.statements, privilege),
  );
}

function denies(statements: readonly RoleStatement[], privilege: RolePermission): boolean {
  return !grants([...statements, { resource: "all", action: ["all"], access: "allow" }], privilege);
}

function grants(statements: readonly RoleStatement[], privilege: RolePermission): boolean {
  return isPermitted({ groups: [], role: privilege }, { groups: new Set(), statements });
}
